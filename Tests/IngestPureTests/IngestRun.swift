import CatalogRecords
import Identifiers
import IngestTesting
import InstallationRecords
import JSON
import RecordFormat
import TokenSealing

@testable import Ingest

/// The ingest stage without I/O: it merges reports, and keeps the installations and the registry that results from the
/// changes.
final class IngestRun {
    /// A test replaces it to change the app.
    var merger: ReportMerger
    private let reader = JSONReader()
    private(set) var installations: [Recipient: Installation] = [:]
    /// All changes of rows, applied in their order.
    private(set) var registry: [RegistryKey: RegistryRow] = [:]
    private(set) var events: [Event] = []
    private(set) var rejections: [RejectedReport.Code] = []
    /// The number of merges and sweeps that had to be written.
    private(set) var written = 0

    init(
        app: App = History.app, seal: TokenSeal = TokenSeal(keys: nil),
        installations: [Recipient: Installation] = [:]
    ) {
        merger = ReportMerger(app: app, seal: seal)
        self.installations = installations
    }

    /// The installation of most tests.
    var installation: Installation? { installations[.installation("i")] }

    @discardableResult
    func merge(
        _ report: Report, at receivedAt: Int64, offset: Int64 = 0, now: Int64? = nil
    ) -> ReportMerger.Outcome {
        let outcome = merger.merge(
            report, arrival: ReportArrival(receivedAt: receivedAt, offset: offset),
            into: installations[report.subject], now: now ?? receivedAt)
        switch outcome {
        case .rejected(let rejection): rejections.append(rejection.code)
        case .unchanged: break
        case .merged(let merged): apply(merged)
        }
        return outcome
    }

    @discardableResult
    func merge(_ received: ReceivedReport, now: Int64? = nil) -> ReportMerger.Outcome {
        merge(received.report, at: received.receivedAt, offset: received.offset, now: now)
    }

    /// Applies the passage of time, and erasures, to all installations.
    func sweep(at now: Int64, _ erasures: ErasedUsers = ErasedUsers()) {
        for installation in installations.values {
            guard let swept = merger.sweep(installation, erasing: erasures, now: now) else { continue }
            written += 1
            installations[installation.subject] = nil
            if let sweptInstallation = swept.installation { store(sweptInstallation) }
            for change in swept.changes { registry[change.key] = change.row }
        }
    }

    private func apply(_ merged: MergedInstallation) {
        if merged.mustBeWritten {
            written += 1
        } else {
            precondition(merged.changes.isEmpty && merged.events.isEmpty, "a change would not be written")
        }
        store(merged.installation)
        for change in merged.changes { registry[change.key] = change.row }
        events += merged.events
    }

    /// Stores the installation as its record decodes.
    private func store(_ installation: Installation) {
        guard let decoded = try? Installation.decode(installation.encoded(), with: reader),
            decoded == installation
        else { preconditionFailure("does not read back: \(installation)") }
        installations[installation.subject] = decoded
    }

    /// The rows that the installations should have in the registry.
    var rowsOfInstallations: [RegistryKey: RegistryRow] {
        var rows: [RegistryKey: RegistryRow] = [:]
        for installation in installations.values {
            for (key, row) in RegistryRows(of: installation).list { rows[key] = row }
        }
        return rows
    }

    /// The rows under the present recipients, without `movedAt`. `RegistryModel` knows no others, because earlier
    /// recipients depend on the order of arrival.
    var rowsOfPresentRecipients: [RegistryKey: RegistryRow] {
        rowsOfInstallations.compactMapValues { row in
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
    var keysThatDiffer: [RegistryKey] {
        let (registry, expectedRows) = (registry, rowsOfInstallations)
        return Set(registry.keys).union(expectedRows.keys).filter { key in
            guard let row = registry[key], let expectedRow = expectedRows[key] else { return true }
            return !row.agrees(with: expectedRow, within: merger.writeInterval)
        }
    }
}
