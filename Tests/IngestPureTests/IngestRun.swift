import CatalogRecords
import Identifiers
import IngestTesting
import InstallationRecords
import JSON
import RecordFormat
import TokenSealing

@testable import Ingest

/// Ingest without I/O: the installations, and the registry that results from their changes.
final class IngestRun {
    /// Replaced if the app changes.
    var merge: ReportMerger
    private let reader = JSONReader()
    private(set) var truth: [Recipient: Installation] = [:]
    private(set) var registry: [RegistryKey: RegistryRow] = [:]
    private(set) var events: [Event] = []
    private(set) var rejections: [RejectedReport.Code] = []
    private(set) var written = 0

    init(
        app: App = History.app, seal: TokenSeal = TokenSeal(keys: nil), truth: [Recipient: Installation] = [:]
    ) {
        merge = ReportMerger(app: app, seal: seal)
        self.truth = truth
    }

    var installation: Installation? { truth[.installation("i")] }

    @discardableResult
    func hear(
        _ report: Report, at receivedAt: Int64, offset: Int64 = 0, now: Int64? = nil
    ) -> ReportMerger.Outcome {
        let outcome = merge.merge(
            report, arrival: ReportArrival(receivedAt: receivedAt, offset: offset),
            into: truth[report.subject],
            now: now ?? receivedAt)
        switch outcome {
        case .rejected(let rejection): rejections.append(rejection.code)
        case .unchanged: break
        case .merged(let merged): take(merged)
        }
        return outcome
    }

    @discardableResult
    func hear(_ received: Received, now: Int64? = nil) -> ReportMerger.Outcome {
        hear(received.report, at: received.at, offset: received.offset, now: now)
    }

    func sweep(at now: Int64, _ erasures: ErasedUsers = ErasedUsers()) {
        for installation in truth.values {
            guard let swept = merge.sweep(installation, erasing: erasures, now: now) else { continue }
            written += 1
            truth[installation.subject] = nil
            if let left = swept.installation { remember(left) }
            for change in swept.changes { registry[change.key] = change.row }
        }
    }

    private func take(_ merged: MergedInstallation) {
        if merged.mustBeWritten {
            written += 1
        } else {
            precondition(merged.changes.isEmpty && merged.events.isEmpty)
        }
        remember(merged.installation)
        for change in merged.changes { registry[change.key] = change.row }
        events += merged.events
    }

    /// Stores the installation as its record decodes.
    private func remember(_ installation: Installation) {
        guard let read = try? Installation.decode(installation.encoded(), with: reader), read == installation
        else { preconditionFailure("does not read back: \(installation)") }
        truth[installation.subject] = read
    }

    /// The rows of the present installations.
    var rows: [RegistryKey: RegistryRow] {
        var rows: [RegistryKey: RegistryRow] = [:]
        for installation in truth.values {
            for (key, row) in RegistryRows(of: installation).list { rows[key] = row }
        }
        return rows
    }

    /// The rows under present recipients, without `movedAt`.
    var presentRows: [RegistryKey: RegistryRow] {
        rows.compactMapValues { row in
            guard case .token(var token) = row else {
                return row
            }
            if token.movedTo != nil { return nil }
            token.movedAt = nil
            return .token(token)
        }.filter { key, row in
            if case .profile = row, key.installation != nil {
                key.recipient == installation?.recipient
            } else {
                true
            }
        }
    }

    /// The keys at which the registry differs from the installations, apart from times within one write
    /// interval.
    var divergence: [RegistryKey] {
        let (registry, rows) = (registry, rows)
        return Set(registry.keys).union(rows.keys).filter { key in
            guard let row = registry[key], let truth = rows[key] else { return true }
            return !row.agrees(with: truth, within: merge.writeInterval)
        }
    }
}
