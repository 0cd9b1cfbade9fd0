"""Makes points.csv and window.geojson from two files of the npm package vega-datasets 3.2.1.

    npm pack vega-datasets@3.2.1 && tar xzf vega-datasets-3.2.1.tgz && pip install shapely && python3 make.py package/data

Longitudes and latitudes are projected to Albers equal area for the contiguous United States (EPSG:5070) by Snyder's formulas for the ellipsoid GRS 80.
"""

import csv
import json
import math
import sys

import shapely

AXIS, FLATTENING = 6378137.0, 1 / 298.257222101
SOUTH, NORTH, MERIDIAN, ORIGIN = 29.5, 45.5, -96.0, 23.0
E2 = FLATTENING * (2 - FLATTENING)
E = math.sqrt(E2)
# The contiguous states lie in this box of degrees; Alaska, Hawaii and the territories do not.
BOX = (-125.0, 24.3, -66.5, 49.6)
# Islands smaller than this many square metres are left out of the window.
SMALLEST = 1e8


def q(latitude):
    s = math.sin(math.radians(latitude))
    return (1 - E2) * (s / (1 - E2 * s * s) - math.log((1 - E * s) / (1 + E * s)) / (2 * E))


def m(latitude):
    s = math.sin(math.radians(latitude))
    return math.cos(math.radians(latitude)) / math.sqrt(1 - E2 * s * s)


N = (m(SOUTH) ** 2 - m(NORTH) ** 2) / (q(NORTH) - q(SOUTH))
C = m(SOUTH) ** 2 + N * q(SOUTH)


def rho(latitude):
    return AXIS * math.sqrt(C - N * q(latitude)) / N


def project(longitude, latitude):
    angle, radius = N * math.radians(longitude - MERIDIAN), rho(latitude)
    return radius * math.sin(angle), rho(ORIGIN) - radius * math.cos(angle)


def arcs(topology):
    (sx, sy), (tx, ty) = topology["transform"]["scale"], topology["transform"]["translate"]
    for arc in topology["arcs"]:
        x = y = 0
        out = []
        for dx, dy in arc:
            x, y = x + dx, y + dy
            out.append((x * sx + tx, y * sy + ty))
        yield out


def ring(ids, lines):
    out = []
    for k in ids:
        line = lines[k] if k >= 0 else lines[~k][::-1]
        out += line[1:] if out else line
    return [project(*p) for p in out]


def inside(place):
    return BOX[0] < place[0] < BOX[2] and BOX[1] < place[1] < BOX[3]


def main(folder):
    with open("points.csv", "w") as file:
        print("x,y,iata", file=file)
        for row in csv.DictReader(open(f"{folder}/airports.csv")):
            place = float(row["longitude"]), float(row["latitude"])
            if inside(place):
                x, y = project(*place)
                print(f"{x:.0f},{y:.0f},{row['iata']}", file=file)
    topology = json.load(open(f"{folder}/us-10m.json"))
    lines = list(arcs(topology))
    land = topology["objects"]["land"]
    land = land["geometries"][0] if "geometries" in land else land
    parts = []
    for polygon in land["arcs"]:
        first = polygon[0][0]
        if inside(lines[first if first >= 0 else ~first][0]):
            rings = [ring(ids, lines) for ids in polygon]
            parts.append(shapely.make_valid(shapely.Polygon(rings[0], rings[1:])))
    # The boundary is simplified and crosses itself in places: a buffer of nothing mends that, metres are precise enough.
    whole = shapely.set_precision(shapely.union_all(parts).buffer(0).simplify(2000), 1)
    polygons = [
        [[[round(x), round(y)] for x, y in line.coords] for line in (part.exterior, *part.interiors)]
        for part in whole.geoms
        if part.area > SMALLEST
    ]
    window = {
        "type": "Feature",
        "crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::5070"}},
        "properties": {"name": "contiguous United States"},
        "geometry": {"type": "MultiPolygon", "coordinates": polygons},
    }
    with open("window.geojson", "w") as file:
        json.dump(window, file, separators=(",", ":"))
        file.write("\n")


main(sys.argv[1])
