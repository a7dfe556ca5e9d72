import CatalogRecords
import Foundation
import JSON
import ProcessTesting
import Testing

@testable import Gateway

/// The OpenAPI document matches the gateway, route by route and field by field. Fields that the gateway reads or writes
/// are found in its source by their spelling.
struct OpenAPITests {
    private let fixture = DeciderFixture()
    private let document: [String: Any]
    private let schemas: [String: Any]

    init() throws {
        let bytes = Array(OpenAPI.document.utf8)
        // The strict reader also refuses duplicate members.
        _ = try JSONReader(limits: JSONLimits(bytesMax: 1 << 20, keysMax: 20_000)).read(bytes) { $0.kind }
        document = try #require(JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any])
        let components = try #require(document["components"] as? [String: Any])
        schemas = try #require(components["schemas"] as? [String: Any])
    }

    /// Returns the names of a schema's properties, or of the properties of one of its members.
    private func properties(_ schema: String, _ path: String...) throws -> [String] {
        var object = try #require(schemas[schema] as? [String: Any], "\(schema)")
        for name in path {
            let members = try #require(object["properties"] as? [String: Any])
            object = try #require(members[name] as? [String: Any])
        }
        return try #require(object["properties"] as? [String: Any]).keys.sorted()
    }

    @Test func `the document has exactly the gateway's routes`() async throws {
        let bench = try await GatewayBench.forSends()
        let paths = try #require(document["paths"] as? [String: [String: Any]])
        let documentedRoutes = paths.flatMap { path, calls in calls.keys.map { "\($0.uppercased()) \(path)" }
        }
        #expect(Set(documentedRoutes) == Set(bench.service.routes))
        let served = try await bench.call("GET", "/v1/openapi.json", key: nil)
        #expect(served.status == 200 && served.body == OpenAPI.document)
        let example = try await bench.call("POST", "/v1/sends", body: OpenAPI.startExample)
        #expect(example.code == "type_unknown", "the only problem is the unknown type")
        let timer = try await bench.call("POST", "/v1/schedules", body: OpenAPI.scheduleExample)
        #expect(timer.code == "does_not_decode", "the only problem is the state of another type")
        await bench.stop()
    }

    /// A call that documents the limit of the headers also documents the limit of the path.
    @Test func `a path that is too long gets the documented answer`() async throws {
        let bench = try await GatewayBench.forSends()
        let long = String(repeating: "a", count: 5000)
        let refused = try await bench.call("GET", "/v1/events/counts?from=\(long)")
        #expect(refused.status == 414 && refused.code == "target_too_long")
        await bench.stop()
        let paths = try #require(document["paths"] as? [String: [String: [String: Any]]])
        for (path, calls) in paths {
            for (method, call) in calls {
                let answers = try #require(call["responses"] as? [String: Any])
                guard answers["431"] != nil else { continue }
                #expect(answers["414"] != nil, "\(method) \(path)")
            }
        }
    }

    /// Returns a body with this one field. Its value has a type that no field has.
    private func body(withField name: String, in parent: String?) -> String {
        let object = #"{"\#(name)":[[]]}"#
        return parent.map { #"{"\#($0)":\#(object)}"# } ?? object
    }

    @Test func `every field of a send in the document is known to the gateway`() throws {
        func expectKnown(_ names: [String], by decider: SendDecider, in parent: String? = nil) {
            for name in names {
                let problems = fixture.problems(in: body(withField: name, in: parent), by: decider)
                let path = parent.map { "\($0).\(name)" } ?? name
                #expect(!problems.contains("\(path) unknown_field"), "\(path)")
            }
        }
        expectKnown(try properties("send"), by: DeciderFixture.own)
        expectKnown(try properties("send", "alert"), by: DeciderFixture.own, in: "alert")
        expectKnown(try properties("netmeraBulk"), by: DeciderFixture.bulk)
        expectKnown(try properties("netmeraBulk", "message"), by: DeciderFixture.bulk, in: "message")
        expectKnown(try properties("netmeraBulk", "target"), by: DeciderFixture.bulk, in: "target")
        expectKnown(try properties("netmeraUpdate"), by: DeciderFixture.update)
        expectKnown(try properties("netmeraUpdate", "target"), by: DeciderFixture.update, in: "target")
        expectKnown(try properties("netmeraTransactional"), by: DeciderFixture.transactional)
        expectKnown(
            try properties("netmeraTransactional", "message"), by: DeciderFixture.transactional, in: "message"
        )
    }

    @Test func `every field of a schedule in the document is known to the gateway`() throws {
        func expectKnown(_ names: [String], in parent: String? = nil) {
            for name in names {
                let context = fixture.context(body(withField: name, in: parent))
                var problems: [String] = []
                do { _ = try ScheduleDecider(lanes: 4).schedule(in: context) } catch {
                    problems = error.problems.map { "\($0.field) \($0.code)" }
                }
                #expect(
                    !problems.isEmpty && !problems.contains { $0.hasSuffix("\(name) unknown_field") },
                    "\(name)")
            }
        }
        expectKnown(try properties("schedule"))
        expectKnown(try properties("schedule", "systemData"), in: "systemData")
    }

    /// The source reads a field of a body as `object["name"]`.
    @Test func `every field that the gateway reads is in the document`() throws {
        var fieldCount = 0
        // The page of the SDK describes reports.
        for file in try sourceFiles() where file.lastPathComponent != "ReportValidator.swift" {
            let source = try String(contentsOf: file, encoding: .utf8)
            for match in source.matches(of: /(?:object|message|target)\["([A-Za-z]+)"\]/) {
                fieldCount += 1
                let name = match.output.1
                #expect(OpenAPI.document.contains("\"\(name)\":"), "\(name) in \(file.lastPathComponent)")
            }
        }
        #expect(fieldCount > 60, "the search found nearly all fields")
    }

    @Test func `every field of an activity type is in the document`() throws {
        var type = ActivityType(name: "t")
        (type.isPrivate, type.requiredAttributes) = (true, ["a"])
        var layout = ActivityLayout()
        (layout.title, layout.countdown, layout.lines) = ("t", "c", ["l"])
        layout.sides = [.init(score: "a"), .init(score: "b")]
        layout.progress = .init(field: "p", end: 90)
        layout.steps = [.init(label: "a +1", field: "a", addend: 1)]
        type.layout = layout
        var writer = JSONWriter()
        type.write(to: &writer)
        let written = try #require(
            JSONSerialization.jsonObject(with: Data(writer.bytes)) as? [String: Any])
        #expect(try Set(properties("activityType")).isSuperset(of: written.keys))
        let writtenLayout = try #require(written["layout"] as? [String: Any])
        #expect(try Set(properties("activityType", "layout")) == Set(writtenLayout.keys))
    }

    /// Returns the Swift files of the gateway.
    private func sourceFiles() throws -> [URL] {
        let files = try #require(
            FileManager.default.enumerator(
                at: URL(fileURLWithPath: Repository.path(of: "Sources/Stages/Gateway")),
                includingPropertiesForKeys: nil))
        return files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
    }

    /// Only few answers have some of the fields. The source writes a field as `json.field("name"`.
    @Test func `every field that an answer may have is in the document`() throws {
        var fieldCount = 0
        for file in try sourceFiles() {
            let source = try String(contentsOf: file, encoding: .utf8)
            for match in source.matches(of: /json\.(?:field|name)\("([A-Za-z]+)"/) {
                fieldCount += 1
                #expect(
                    OpenAPI.document.contains("\"\(match.output.1)\":"),
                    "\(match.output.1) in \(file.lastPathComponent)")
            }
        }
        #expect(fieldCount > 60, "the search found nearly all fields")
    }

    @Test func `every answer has exactly the documented fields`() async throws {
        let bench = try await GatewayBench.forSends()
        func names(_ answer: HTTPAnswer) throws -> Set<String> {
            try Set(
                #require(JSONSerialization.jsonObject(with: Data(answer.body.utf8)) as? [String: Any]).keys)
        }
        let accepted = try await bench.call("POST", "/v1/sends", body: SendsServiceTests.start())
        #expect(try names(accepted).isSubset(of: properties("accepted")), "\(accepted.body)")
        let id = try accepted.member("sendId")
        #expect(try names(await bench.call("GET", "/v1/sends/\(id)")).isSubset(of: properties("progress")))
        #expect(try names(await bench.call("DELETE", "/v1/sends/\(id)")) == Set(properties("cancelling")))
        let timer = try await bench.call("POST", "/v1/schedules", body: SchedulesServiceTests.schedule())
        #expect(try names(timer).isSubset(of: properties("scheduled")), "\(timer.body)")
        let type = try await bench.call("GET", "/v1/activity-types/\(GatewayBench.matchType)")
        #expect(try names(type).isSubset(of: properties("activityType")))
        await bench.stop()
    }
}
