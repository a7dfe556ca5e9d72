internal import Ingest
internal import JSON
internal import LiveActivity

/// A measurement of ingest's pure decisions, without Kafka and stores: the cost of one report. The last lines
/// are the cost of the records that are read and written.
enum MergeBenchmark {
    private static let start: Int64 = 1_763_600_000_000
    private static let app = App(
        id: "shop", bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
        keyID: "KEY1234567")

    static func run(_ arguments: [String]) throws {
        print("reports merged per core-second (median), one installation with two tokens and a profile")
        let rounds = Rounds(count: 9, iterations: 50_000)
        let merge = ReportMerger(app: app, seal: TokenSeal(keys: nil))
        var known: Installation?
        for report in [profile(), startToken(0), updateToken(0)] {
            known = try merged(
                merge.merge(
                    report, arrival: ReportArrival(receivedAt: start, offset: 0), into: known, now: start)
            ).installation
        }
        guard let known else { throw BenchmarkFailure("nothing was merged") }

        var number = 0
        var token = 1
        let same = startToken(0)
        try line("the same again", rounds: rounds) {
            guard
                case .unchanged = merge.merge(
                    same, arrival: ReportArrival(receivedAt: start, offset: 0), into: known, now: start)
            else {
                throw BenchmarkFailure("the same report again changed something")
            }
        }
        try line("the same report, later", rounds: rounds) {
            number += 1
            let at = start + 1 + Int64(number % 60_000)
            if try merged(
                merge.merge(same, arrival: ReportArrival(receivedAt: at, offset: 0), into: known, now: at)
            ).mustBeWritten {
                throw BenchmarkFailure("the repeated report was written again")
            }
        }
        try line("a start token rotates", rounds: rounds) {
            token += 1
            try rotate(merge, startToken(token), known: known)
        }
        try line("an update token rotates", rounds: rounds) {
            token += 1
            try rotate(merge, updateToken(token), known: known)
        }
        try line("a new installation", rounds: rounds) {
            token += 1
            try rotate(merge, startToken(token), known: nil)
        }
        var writer = JSONWriter()
        try line("its record written", rounds: rounds) { known.encode(to: &writer) }
        let (bytes, reader) = (known.encoded(), JSONReader())
        try line("its record of \(bytes.count) bytes read", rounds: rounds) {
            _ = try Installation.decode(bytes, with: reader)
        }
        for report in [startToken(0), updateToken(0)] {
            let bytes = report.encoded()
            try line("a report of \(bytes.count) bytes read", rounds: rounds) {
                _ = try Report.decode(bytes, with: reader)
            }
        }
        let row = row()
        try line("a registry row written", rounds: rounds) { row.encode(to: &writer) }
    }

    private static func rotate(_ merge: ReportMerger, _ report: Report, known: Installation?) throws {
        let made = try merged(
            merge.merge(
                report, arrival: ReportArrival(receivedAt: start + 1, offset: 0), into: known, now: start + 1)
        )
        guard made.changes.count == 1, !made.events.isEmpty else {
            throw BenchmarkFailure(
                "a new token made \(made.changes.count) rows, \(made.events.count) events")
        }
    }

    private static func merged(_ outcome: ReportMerger.Outcome) throws -> ReportOutcome {
        guard case .merged(let merged) = outcome else { throw BenchmarkFailure("not merged: \(outcome)") }
        return merged
    }

    private static func line(_ what: String, rounds: Rounds, work: () throws -> Void) throws {
        let rate = try rounds.rate(work)
        let name = what + String(repeating: " ", count: max(1, 32 - what.count))
        print("  \(name)\(Int(rate)) (\(Int(1e9 / rate)) ns)")
    }

    // MARK: Reports as SDKs send them

    private static func report(_ kind: Report.Kind) -> Report {
        var report = Report(
            app: app.id, environment: .production, installation: "7f3c9a52-1d0e-4b6f-9c58-2e61d7a4b093",
            kind: kind)
        report.user = "user-00482913"
        report.os = "18.1"
        report.frequentPushesEnabled = true
        return report
    }

    private static func profile() -> Report {
        var report = report(.profile)
        report.tags = ["vip", "galatasaray"]
        report.locale = "tr_TR"
        return report
    }

    private static func startToken(_ number: Int) -> Report {
        var report = report(.startToken)
        report.attributesType = "MatchAttributes"
        report.token = token(number)
        return report
    }

    private static func updateToken(_ number: Int) -> Report {
        var report = report(.updateToken)
        report.attributesType = "MatchAttributes"
        report.activity = "E2B7C0A4-5D19-4F83-A6C2-91B03D8E7F46"
        report.group = "match-2026-11-20-galatasaray-fenerbahce"
        report.token = token(number)
        return report
    }

    private static func row() -> TokenRow {
        var row = TokenRow(
            environment: .production, token: String(repeating: "80f2a6c1d3e45b79", count: 9),
            tokenHash: String(repeating: "5d1c0f3a", count: 8), attributesType: "MatchAttributes",
            registeredAt: start)
        row.group = "match-2026-11-20-galatasaray-fenerbahce"
        row.expiresAt = start + 8 * 3_600_000
        row.os = "18.1"
        return row
    }

    private static func token(_ number: Int) -> String {
        let digits = String(1_000_000_000 + number)
        return digits + String(repeating: "80f2a6c1d3e45b79", count: 9) + "abcdef"
    }
}
