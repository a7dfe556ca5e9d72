internal import CatalogRecords
internal import Identifiers
internal import Ingest
internal import InstallationRecords
internal import JSON
internal import RecordFormat
internal import TokenSealing

/// A measurement of ingest's pure decisions, without Kafka and stores: the cost of one report. The last lines
/// are the cost of the records that are read and written.
enum MergeBenchmark {
    private static let startMilliseconds: Int64 = 1_763_600_000_000
    private static let app = App(
        id: "shop", bundleID: "com.example.shop", environments: [.production], teamID: "ABCDE12345",
        keyID: "KEY1234567")

    static func run(arguments: [String]) throws {
        print("reports merged per core-second (median), one installation with two tokens and a profile")
        let rounds = Rounds(count: 9, iterations: 50_000)
        let merger = ReportMerger(app: app, seal: TokenSeal(keys: nil))
        let stored = try makeInstallation(with: merger)
        try measureRepeatedReports(with: merger, stored: stored, rounds: rounds)
        try measureNewTokens(with: merger, stored: stored, rounds: rounds)
        try measureRecords(of: stored, rounds: rounds)
    }

    /// Returns an installation with two tokens and a profile.
    private static func makeInstallation(with merger: ReportMerger) throws -> Installation {
        var stored: Installation?
        for report in [
            makeProfileReport(), makeStartTokenReport(number: 0), makeUpdateTokenReport(number: 0),
        ] {
            stored = try mergedOutcome(
                of: merger.merge(
                    report, arrival: ReportArrival(receivedAt: startMilliseconds, offset: 0), into: stored,
                    now: startMilliseconds)
            ).installation
        }
        guard let stored else { throw BenchmarkFailure("nothing was merged") }
        return stored
    }

    /// Measures reports that the installation already contains.
    private static func measureRepeatedReports(
        with merger: ReportMerger, stored: Installation, rounds: Rounds
    ) throws {
        let storedReport = makeStartTokenReport(number: 0)
        try printRate(of: "the same again", rounds: rounds) {
            guard
                case .unchanged = merger.merge(
                    storedReport, arrival: ReportArrival(receivedAt: startMilliseconds, offset: 0),
                    into: stored,
                    now: startMilliseconds)
            else {
                throw BenchmarkFailure("the same report again changed something")
            }
        }
        var number = 0
        try printRate(of: "the same report, later", rounds: rounds) {
            number += 1
            // Within a minute. `WriteInterval` lets repeated values be written again only in the next day.
            let at = startMilliseconds + 1 + Int64(number % 60_000)
            if try mergedOutcome(
                of: merger.merge(
                    storedReport, arrival: ReportArrival(receivedAt: at, offset: 0), into: stored, now: at)
            ).mustBeWritten {
                throw BenchmarkFailure("the repeated report was written again")
            }
        }
    }

    private static func measureNewTokens(
        with merger: ReportMerger, stored: Installation, rounds: Rounds
    ) throws {
        // Each iteration takes the next number, and so a token that differs from all before.
        var token = 1
        try printRate(of: "a start token rotates", rounds: rounds) {
            token += 1
            try mergeNewToken(with: merger, report: makeStartTokenReport(number: token), stored: stored)
        }
        try printRate(of: "an update token rotates", rounds: rounds) {
            token += 1
            try mergeNewToken(with: merger, report: makeUpdateTokenReport(number: token), stored: stored)
        }
        try printRate(of: "a new installation", rounds: rounds) {
            token += 1
            try mergeNewToken(with: merger, report: makeStartTokenReport(number: token), stored: nil)
        }
    }

    /// Measures the records that ingest reads and writes.
    private static func measureRecords(of stored: Installation, rounds: Rounds) throws {
        var writer = JSONWriter()
        try printRate(of: "its record written", rounds: rounds) { stored.encode(to: &writer) }
        let (bytes, reader) = (stored.encoded(), JSONReader())
        try printRate(of: "its record of \(bytes.count) bytes read", rounds: rounds) {
            _ = try Installation.decode(bytes, with: reader)
        }
        for report in [makeStartTokenReport(number: 0), makeUpdateTokenReport(number: 0)] {
            let bytes = report.encoded()
            try printRate(of: "a report of \(bytes.count) bytes read", rounds: rounds) {
                _ = try Report.decode(bytes, with: reader)
            }
        }
        let row = makeRow()
        try printRate(of: "a registry row written", rounds: rounds) { row.encode(to: &writer) }
    }

    private static func mergeNewToken(with merger: ReportMerger, report: Report, stored: Installation?) throws
    {
        let outcome = try mergedOutcome(
            of: merger.merge(
                report, arrival: ReportArrival(receivedAt: startMilliseconds + 1, offset: 0), into: stored,
                now: startMilliseconds + 1)
        )
        guard outcome.changes.count == 1, !outcome.events.isEmpty else {
            throw BenchmarkFailure(
                "a new token made \(outcome.changes.count) rows, \(outcome.events.count) events")
        }
    }

    private static func mergedOutcome(of outcome: ReportMerger.Outcome) throws -> MergedInstallation {
        guard case .merged(let merged) = outcome else { throw BenchmarkFailure("not merged: \(outcome)") }
        return merged
    }

    private static func printRate(of name: String, rounds: Rounds, work: () throws -> Void) throws {
        let rate = try rounds.rate(of: work)
        let padding = String(repeating: " ", count: max(1, 32 - name.count))
        print("  \(name)\(padding)\(Int(rate)) (\(Int(1e9 / rate)) ns)")
    }

    // MARK: Reports as SDKs send them

    private static func makeReport(kind: Report.Kind) -> Report {
        var report = Report(
            app: app.id, environment: .production, installation: "7f3c9a52-1d0e-4b6f-9c58-2e61d7a4b093",
            kind: kind)
        report.user = "user-00482913"
        report.os = "18.1"
        report.frequentPushesEnabled = true
        return report
    }

    private static func makeProfileReport() -> Report {
        var report = makeReport(kind: .profile)
        report.tags = ["vip", "galatasaray"]
        report.locale = "tr_TR"
        return report
    }

    private static func makeStartTokenReport(number: Int) -> Report {
        var report = makeReport(kind: .startToken)
        report.attributesType = "MatchAttributes"
        report.token = makeToken(number: number)
        return report
    }

    private static func makeUpdateTokenReport(number: Int) -> Report {
        var report = makeReport(kind: .updateToken)
        report.attributesType = "MatchAttributes"
        report.activity = "E2B7C0A4-5D19-4F83-A6C2-91B03D8E7F46"
        report.group = "match-2026-11-20-galatasaray-fenerbahce"
        report.token = makeToken(number: number)
        return report
    }

    private static func makeRow() -> TokenRow {
        var row = TokenRow(
            environment: .production, token: String(repeating: "80f2a6c1d3e45b79", count: 9),
            tokenHash: String(repeating: "5d1c0f3a", count: 8), attributesType: "MatchAttributes",
            registeredAt: startMilliseconds)
        row.group = "match-2026-11-20-galatasaray-fenerbahce"
        row.expiresAt = startMilliseconds + 8 * 3_600_000
        row.os = "18.1"
        return row
    }

    private static func makeToken(number: Int) -> String {
        let digits = String(1_000_000_000 + number)
        return digits + String(repeating: "80f2a6c1d3e45b79", count: 9) + "abcdef"
    }
}
