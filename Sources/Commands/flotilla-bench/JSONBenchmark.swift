internal import Foundation
internal import JSON

/// A measurement with token reports of 466 bytes and eleven fields. Module `JSON` reads them strictly into a struct with
/// strings, reads them in place without a copy, and writes them. Foundation's decoder runs in the same run.
enum JSONBenchmark {
    private static let rounds = Rounds(count: 9, iterations: 200_000)
    /// Foundation's decoder is slower, so it gets less work.
    private static let foundationRounds = Rounds(count: 5, iterations: 20_000)

    private static let reportText = """
        {"v":1,"app":"com.example.matchday","environment":"production",\
        "installationId":"7f3c9a52-1d0e-4b6f-9c58-2e61d7a4b093","userId":"user-00482913","kind":"updateToken",\
        "attributesType":"MatchAttributes","activityId":"E2B7C0A4-5D19-4F83-A6C2-91B03D8E7F46","groupId":"match-2026-11-20-galatasaray-fenerbahce-returning-leg-second",\
        "token":"80f2a6c1d3e45b7980f2a6c1d3e45b7980f2a6c1d3e45b7980f2a6c1d3e45b79a1b2c3d4e5f60718293a4b5c6d7e8f9001122334",\
        "eventTime":1763632800123}
        """

    static func run(arguments: [String]) throws {
        let bytes = Array(reportText.utf8)
        let report = try JSONDecoder().decode(Report.self, from: Data(bytes))
        let stringsRate = try measureReadingStrings(bytes, expected: report)
        let inPlaceRate = try measureReadingInPlace(bytes)
        let foundationRate = try measureFoundation(bytes, expected: report)
        let writingRate = try measureWriting(report, expected: bytes)

        print("token reports, \(bytes.count) bytes, 11 fields, per core-second (median)")
        printRate(name: "read in place", rate: inPlaceRate, foundationRate: foundationRate)
        printRate(name: "read into strings", rate: stringsRate, foundationRate: foundationRate)
        printRate(name: "JSONDecoder", rate: foundationRate, foundationRate: foundationRate)
        printRate(name: "written", rate: writingRate, foundationRate: foundationRate)
    }

    private static func printRate(name: String, rate: Double, foundationRate: Double) {
        let paddedName = name.padding(toLength: 20, withPad: " ", startingAt: 0)
        print("  \(paddedName)\(Int(rate)) (\(String(format: "%.1f", rate / foundationRate)) of JSONDecoder)")
    }

    // MARK: Measurements

    // Each returns reports per second of processor time. It throws if a result is wrong, because its rate would have no
    // meaning.

    private static func measureReadingStrings(_ bytes: [UInt8], expected: Report) throws -> Double {
        let reader = JSONReader()
        return try rounds.rate {
            if try reader.read(bytes, decode: Report.init) != expected {
                throw BenchmarkFailure("the value read differs")
            }
        }
    }

    private static func measureReadingInPlace(_ bytes: [UInt8]) throws -> Double {
        let reader = JSONReader()
        let expectedSum = try reader.read(bytes, decode: sumOfFields)
        return try rounds.rate {
            if try reader.read(bytes, decode: sumOfFields) != expectedSum {
                throw BenchmarkFailure("the lengths read differ")
            }
        }
    }

    private static func measureFoundation(_ bytes: [UInt8], expected: Report) throws -> Double {
        let decoder = JSONDecoder()
        let data = Data(bytes)
        return try foundationRounds.rate {
            if try decoder.decode(Report.self, from: data) != expected {
                throw BenchmarkFailure("the value read differs")
            }
        }
    }

    private static func measureWriting(_ report: Report, expected: [UInt8]) throws -> Double {
        var writer = JSONWriter()
        let rate = rounds.rate {
            writer.removeAll()
            write(report, to: &writer)
        }
        if writer.bytes != expected { throw BenchmarkFailure("the bytes written differ") }
        return rate
    }

    // MARK: The work

    private struct Report: Decodable, Equatable {
        /// The version of the format.
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
        /// Milliseconds since 1970.
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

    /// Reads every field in place, as a stage does that stores the bytes. Returns a sum over all fields, so that the
    /// compiler cannot leave out a read: the byte counts of the texts, the version, and 1 if the time is not positive.
    private static func sumOfFields(of root: JSONValue) -> Int {
        let object = root.object()
        var sum = object["v"].int()
        unsafe sum += object["app"].utf8().count + object["environment"].utf8().count
        unsafe sum += object["installationId"].utf8().count + object["userId"].utf8().count
        unsafe sum += object["kind"].utf8().count + object["attributesType"].utf8().count
        unsafe sum += object["activityId"].utf8().count + object["groupId"].utf8().count
        unsafe sum += object["token"].utf8().count
        return sum + (object["eventTime"].int() > 0 ? 0 : 1)
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
}
