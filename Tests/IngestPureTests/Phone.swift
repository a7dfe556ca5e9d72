import CatalogRecords
import Identifiers
import InstallationRecords
import TokenSealing

@testable import Ingest

/// One phone that sends reports, at times in minutes, and the resulting registry.
struct Phone {
    static let start = History.start
    static let minute: Int64 = 60_000
    let run: IngestRun

    init(app: App = History.app, seal: TokenSeal = TokenSeal(keys: nil)) {
        run = IngestRun(app: app, seal: seal)
    }

    static func at(_ minutes: Int) -> Int64 { start + Int64(minutes) * minute }

    /// - Parameters:
    ///   - minutes: The time at which the server receives it.
    ///   - happened: The time by the phone's clock, or nil if the report has none.
    @discardableResult
    func says(
        _ kind: Report.Kind, at minutes: Int, happened: Int? = nil,
        environment: Environment = .production, _ fill: (inout Report) -> Void = { _ in }
    ) -> ReportMerger.Outcome {
        let report = report(kind, happened: happened, environment: environment, fill)
        return run.hear(report, at: Self.at(minutes))
    }

    func report(
        _ kind: Report.Kind, happened: Int? = nil, environment: Environment = .production,
        _ fill: (inout Report) -> Void = { _ in }
    ) -> Report {
        var report = Report(app: "shop", environment: environment, installation: "i", kind: kind)
        report.eventTime = happened.map(Self.at)
        fill(&report)
        return report
    }

    @discardableResult
    func startToken(
        _ token: String, type: String? = "Match", at minutes: Int, happened: Int? = nil
    ) -> ReportMerger.Outcome {
        says(.startToken, at: minutes, happened: happened) {
            $0.token = token
            $0.attributesType = type
        }
    }

    @discardableResult
    func updateToken(
        _ token: String, of activity: String, type: String? = "Match", group: String? = nil, at minutes: Int,
        happened: Int? = nil
    ) -> ReportMerger.Outcome {
        says(.updateToken, at: minutes, happened: happened) {
            $0.token = token
            $0.activity = activity
            $0.attributesType = type
            $0.group = group
        }
    }

    @discardableResult
    func state(
        _ state: Report.ActivityState, of activity: String, at minutes: Int, happened: Int? = nil
    ) -> ReportMerger.Outcome {
        says(.state, at: minutes, happened: happened) {
            $0.activity = activity
            $0.state = state
        }
    }

    func refusal(of token: String, since invalidated: Int?, dispatched: Int, at minutes: Int) {
        let hash = String(
            decoding: Hex.encode(TokenSeal(keys: nil).hash(of: PushToken(hex: token)!)), as: UTF8.self)
        says(.deadToken, at: minutes) {
            $0.refusal = .init(
                tokenHash: hash, entry: "start:Match", reason: "Unregistered",
                invalidatedAt: invalidated.map(Self.at), dispatchedAt: Self.at(dispatched))
        }
    }

    @discardableResult
    func proof(
        of token: String, _ entry: RegistryKey.Entry, at minutes: Int,
        environment: Environment = .production
    ) -> ReportMerger.Outcome {
        says(.provenToken, at: minutes, environment: environment) {
            $0.proof = .init(
                tokenHash: Hex.text(of: TokenSeal(keys: nil).hash(of: PushToken(hex: token)!)), entry: entry)
        }
    }

    func sweep(at minutes: Int) { run.sweep(at: Self.at(minutes)) }

    /// The registry, as `recipient entry token`.
    var rows: [String] {
        run.registry.map { key, row in
            let what =
                switch row {
                case .token(let row):
                    row.dismissedAt != nil
                        ? "dismissed" : (row.token ?? "") + (row.movedTo.map { ">\($0.text)" } ?? "")
                case .profile(let row): row.tags.joined(separator: ",")
                }
            return "\(key.recipient.text) \(key.entry.text) \(what)"
        }.sorted()
    }

    /// - Parameter recipient: The recipient that owns the row. Nil means the present one.
    func row(_ entry: String, of recipient: Recipient? = nil) -> TokenRow? {
        let found = run.registry.first {
            $0.key.entry.text == entry && $0.key.recipient == recipient ?? run.installation?.recipient
        }
        guard case .token(let row)? = found?.value else { return nil }
        return row
    }

    var events: [String] {
        run.events.map { event in
            ([event.code.rawValue] + [event.activity, event.cause?.rawValue].compactMap { $0 })
                .joined(separator: " ")
        }
    }
}
