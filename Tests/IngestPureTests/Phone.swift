import CatalogRecords
import Identifiers
import InstallationRecords
import TokenSealing

@testable import Ingest

/// A phone whose reports an `IngestRun` merges. Its functions send one report each, and its properties show the
/// resulting registry and events as short texts. Times are minutes after `start`.
struct Phone {
    static let start = History.start
    static let minute: Int64 = 60_000
    let run: IngestRun

    init(app: App = History.app, seal: TokenSeal = TokenSeal(keys: nil)) {
        run = IngestRun(app: app, seal: seal)
    }

    /// Returns a time in milliseconds since 1970.
    static func at(_ minutes: Int) -> Int64 { start + Int64(minutes) * minute }

    /// Sends a report.
    ///
    /// - Parameters:
    ///   - minutes: The time at which the server receives it.
    ///   - happened: The time by the phone's clock, or nil if the report has none.
    @discardableResult
    func send(
        _ kind: Report.Kind, at minutes: Int, happened: Int? = nil,
        environment: Environment = .production, _ fill: (inout Report) -> Void = { _ in }
    ) -> ReportMerger.Outcome {
        let report = makeReport(kind, happened: happened, environment: environment, fill)
        return run.merge(report, at: Self.at(minutes))
    }

    func makeReport(
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
        send(.startToken, at: minutes, happened: happened) {
            $0.token = token
            $0.attributesType = type
        }
    }

    @discardableResult
    func updateToken(
        _ token: String, of activity: String, type: String? = "Match", group: String? = nil, at minutes: Int,
        happened: Int? = nil
    ) -> ReportMerger.Outcome {
        send(.updateToken, at: minutes, happened: happened) {
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
        send(.state, at: minutes, happened: happened) {
            $0.activity = activity
            $0.state = state
        }
    }

    /// Sends the report of a sender that APNs refused a token.
    ///
    /// - Parameters:
    ///   - invalidated: The time since which the token is invalid by APNs, or nil if APNs gave none.
    ///   - dispatched: The time of the push.
    func refusal(of token: String, since invalidated: Int?, dispatched: Int, at minutes: Int) {
        let hash = String(
            decoding: Hex.encode(TokenSeal(keys: nil).hash(of: PushToken(hex: token)!)), as: UTF8.self)
        send(.deadToken, at: minutes) {
            $0.refusal = .init(
                tokenHash: hash, entry: "start:Match", reason: "Unregistered",
                invalidatedAt: invalidated.map(Self.at), dispatchedAt: Self.at(dispatched))
        }
    }

    /// Reports that APNs accepted a token.
    @discardableResult
    func proof(
        of token: String, _ entry: RegistryKey.Entry, at minutes: Int,
        environment: Environment = .production
    ) -> ReportMerger.Outcome {
        send(.provenToken, at: minutes, environment: environment) {
            $0.proof = .init(
                tokenHash: Hex.text(of: TokenSeal(keys: nil).hash(of: PushToken(hex: token)!)), entry: entry)
        }
    }

    func sweep(at minutes: Int) { run.sweep(at: Self.at(minutes)) }

    /// The rows of the registry, for example `u:anna start:Match aa`. A token that has moved ends with `>RECIPIENT`, a
    /// dismissed activity has `dismissed` instead of a token, and a profile has its tags.
    var rows: [String] {
        run.registry.map { key, row in
            let content =
                switch row {
                case .token(let row):
                    row.dismissedAt != nil
                        ? "dismissed" : (row.token ?? "") + (row.movedTo.map { ">\($0.text)" } ?? "")
                case .profile(let row): (row.tags ?? []).joined(separator: ",")
                }
            return "\(key.recipient.text) \(key.entry.text) \(content)"
        }.sorted()
    }

    /// Returns the row of a token or of a dismissed activity.
    ///
    /// - Parameters:
    ///   - entry: The token's name in keys, for example `start:Match`.
    ///   - recipient: The recipient that owns the row. Nil means the present one.
    func row(_ entry: String, of recipient: Recipient? = nil) -> TokenRow? {
        let match = run.registry.first {
            $0.key.entry.text == entry && $0.key.recipient == recipient ?? run.installation?.recipient
        }
        guard case .token(let row)? = match?.value else { return nil }
        return row
    }

    /// The events, for example `n:lac A ended`: the code, the activity, and the cause of its end.
    var events: [String] {
        run.events.map { event in
            ([event.code.rawValue] + [event.activity, event.cause?.rawValue].compactMap { $0 })
                .joined(separator: " ")
        }
    }
}
