import JSON
import Members
import RecordFormat
import Testing

@testable import Insight

/// The report about the processes: differing settings, open breakers, and members that end.
struct ProcessesReportTests {
    private func process(_ name: String, settings: [String: String]) -> ProcessFacts {
        ProcessFacts(
            process: name, version: "1", stages: ["sender"],
            settings: settings.sorted { $0.key < $1.key }.map { .init(key: $0.key, value: $0.value) },
            startedAt: 5)
    }

    @Test func `differing settings are shown with their processes, without each process's own settings`() {
        let report = ProcessesReport(
            processes: [
                process(
                    "a", settings: ["sender.permits": "5", "log.level": "info", "insight.listen": "h:1"]),
                process(
                    "b", settings: ["sender.permits": "6", "log.level": "info", "insight.listen": "h:2"]),
                process("c", settings: ["log.level": "info"]),
            ], app: "shop")
        #expect(report.differences == [.init(key: "sender.permits", values: ["5": ["a"], "6": ["b"]])])
    }

    @Test func `a breaker is shown only to its own app`() {
        var bankProcess = process("a", settings: [:])
        bankProcess.openBreakers = [.init(app: "bank", environment: "production")]
        func report(to app: String) -> String {
            var writer = JSONWriter(capacity: 100)
            writer.beginObject()
            ProcessesReport(processes: [bankProcess], app: app).write(to: &writer)
            writer.endObject()
            return String(decoding: writer.bytes, as: UTF8.self)
        }
        #expect(report(to: "shop").contains(#""openBreakers":[]"#) && !report(to: "shop").contains("bank"))
        #expect(report(to: "bank").contains(#""openBreakers":[{"process":"a","environment":"production"}]"#))
    }

    @Test func `members distinguish processes from owners of lanes, and ended ones disappear`() throws {
        var table = MemberTable()
        let reader = JSONReader()
        var facts = process("a", settings: ["log.level": "info"])
        facts.openBreakers = [.init(app: "shop", environment: "sandbox")]
        facts.suspectTokens = 7
        let member = Member(
            stage: "insight", process: "a", host: "h", port: 1, secret: "s", lanes: [1], startedAt: 1, at: 2)
        table.apply(key: facts.key, value: facts.encoded(), with: reader)
        table.apply(key: member.key, value: member.encoded(), with: reader)
        #expect(table.processes == [facts] && table.members(of: "insight") == [member])
        table.apply(key: facts.key, value: nil, with: reader)
        #expect(table.processes.isEmpty && table.members(of: "insight") == [member])
    }
}
