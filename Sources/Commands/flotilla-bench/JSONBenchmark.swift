internal import Foundation
internal import JSON

/// A measurement with token reports of 466 bytes and eleven fields: read strictly into a struct with strings,
/// read in place, and written. Foundation's decoder runs in the same run.
enum JSONBenchmark {
    private static let reportText = """
        {"v":1,"app":"com.example.matchday","environment":"production",\
        "installationId":"7f3c9a52-1d0e-4b6f-9c58-2e61d7a4b093","userId":"user-00482913","kind":"updateToken",\
        "attributesType":"MatchAttributes","activityId":"E2B7C0A4-5D19-4F83-A6C2-91B03D8E7F46","groupId":"match-2026-11-20-galatasaray-fenerbahce-returning-leg-second",\
        "token":"80f2a6c1d3e45b7980f2a6c1d3e45b7980f2a6c1d3e45b7980f2a6c1d3e45b79a1b2c3d4e5f60718293a4b5c6d7e8f9001122334",\
        "eventTime":1763632800123}
        """

    private struct Report: Decodable, Equatable {
        var v: Int
        var app: String
        var environment: String
        var installationId: String
        var userId: String?
        var kind: String
        var attributesType: String?
        var activityId: String?
        var groupId: String?
        var token: String?
        var eventTime: Int?

        init(_ root: JSONValue) {
            let object = root.object()
            v = object["v"].int(in: 1...1)
            app = object["app"].string()
            environment = object["environment"].string()
            installationId = object["installationId"].string()
            userId = object["userId"].optional?.string()
            kind = object["kind"].string()
            attributesType = object["attributesType"].optional?.string()
            activityId = object["activityId"].optional?.string()
            groupId = object["groupId"].optional?.string()
            token = object["token"].optional?.string()
            eventTime = object["eventTime"].optional?.int()
            object.reportUnknownFields()
        }
    }

    static func run(arguments: [String]) throws {
        let bytes = Array(reportText.utf8)
        let reader = JSONReader()
        let decoder = JSONDecoder()
        let data = Data(bytes)
        let expected = try decoder.decode(Report.self, from: data)
        let textBytes = try reader.read(bytes, decode: countTextBytes)
        let rounds = Rounds(count: 9, iterations: 200_000)

        let strings = try rounds.rate {
            if try reader.read(bytes, decode: Report.init) != expected {
                throw BenchmarkFailure("the value read differs")
            }
        }
        let inPlace = try rounds.rate {
            if try reader.read(bytes, decode: countTextBytes) != textBytes {
                throw BenchmarkFailure("the lengths read differ")
            }
        }
        let foundation = try Rounds(count: 5, iterations: 20_000).rate {
            if try decoder.decode(Report.self, from: data) != expected {
                throw BenchmarkFailure("the value read differs")
            }
        }
        var writer = JSONWriter()
        let writing = rounds.rate {
            writer.removeAll()
            write(expected, to: &writer)
        }
        if writer.bytes != bytes { throw BenchmarkFailure("the bytes written differ") }

        print("token reports, \(bytes.count) bytes, 11 fields, per core-second (median)")
        printRate(name: "read in place", rate: inPlace, reference: foundation)
        printRate(name: "read into strings", rate: strings, reference: foundation)
        printRate(name: "JSONDecoder", rate: foundation, reference: foundation)
        printRate(name: "written", rate: writing, reference: foundation)
    }

    /// Looks at every field in place, as a stage does that stores bytes.
    private static func countTextBytes(of root: JSONValue) -> Int {
        let object = root.object()
        var count = object["v"].int()
        unsafe count += object["app"].utf8.count + object["environment"].utf8.count
        unsafe count += object["installationId"].utf8.count + object["userId"].utf8.count
        unsafe count += object["kind"].utf8.count + object["attributesType"].utf8.count
        unsafe count += object["activityId"].utf8.count + object["groupId"].utf8.count
        unsafe count += object["token"].utf8.count
        return count + (object["eventTime"].int() > 0 ? 0 : 1)
    }

    private static func write(_ report: Report, to json: inout JSONWriter) {
        json.beginObject()
        json.name("v")
        json.value(report.v)
        writeField(named: "app", value: report.app, to: &json)
        writeField(named: "environment", value: report.environment, to: &json)
        writeField(named: "installationId", value: report.installationId, to: &json)
        writeField(named: "userId", value: report.userId, to: &json)
        writeField(named: "kind", value: report.kind, to: &json)
        writeField(named: "attributesType", value: report.attributesType, to: &json)
        writeField(named: "activityId", value: report.activityId, to: &json)
        writeField(named: "groupId", value: report.groupId, to: &json)
        writeField(named: "token", value: report.token, to: &json)
        if let eventTime = report.eventTime {
            json.name("eventTime")
            json.value(eventTime)
        }
        json.endObject()
    }

    private static func writeField(named name: StaticString, value: String?, to json: inout JSONWriter) {
        guard let value else { return }
        json.name(name)
        json.value(value)
    }

    private static func printRate(name: String, rate: Double, reference: Double) {
        let paddedName = name.padding(toLength: 20, withPad: " ", startingAt: 0)
        print("  \(paddedName)\(Int(rate)) (\(String(format: "%.1f", rate / reference)) of JSONDecoder)")
    }
}
