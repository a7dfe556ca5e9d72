import CatalogRecords
import Identifiers
import IngestTesting
import InstallationRecords
import JSON
import RecordFormat
import TokenSealing

@testable import Ingest

/// Merges reports as the ingest stage does, without I/O. It keeps the installations, and a registry that is made only
/// from the changes of each merge. Both ways must lead to the same rows (`keysThatDiffer`).
final class IngestRun {
    /// A `var`, so that a test can change the app or the seal.
    var merger: ReportMerger
    private(set) var installations: [Recipient: Installation] = [:]
    /// The rows that result from all changes, applied in their order.
    private(set) var registry: [RegistryKey: RegistryRow] = [:]
    private(set) var events: [Event] = []
    private(set) var rejections: [RejectedReport.Code] = []
    /// The number of merges and sweeps whose installation had to be written.
    private(set) var writeCount = 0
    private let reader = JSONReader()

    init(
        app: App = History.app, seal: TokenSeal = TokenSeal(keys: nil),
        installations: [Recipient: Installation] = [:]
    ) {
        merger = ReportMerger(app: app, seal: seal)
        self.installations = installations
    }

    /// The installation of most tests.
    var installation: Installation? { installations[.installation("i")] }

    /// Merges a report. A rejected report changes nothing.
    ///
    /// - Parameters:
    ///   - receivedAt: The timestamp of the report's record, in milliseconds since 1970.
    ///   - offset: The offset at which the report was first stored.
    ///   - now: The time of the merge. Nil means that the report is merged when it is received.
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
    func sweep(at now: Int64, erasing erasures: ErasedUsers = ErasedUsers()) {
        for installation in installations.values {
            guard let swept = merger.sweep(installation, erasing: erasures, now: now) else { continue }
            writeCount += 1
            installations[installation.subject] = nil
            if let sweptInstallation = swept.installation { store(sweptInstallation) }
            for change in swept.changes { registry[change.key] = change.row }
        }
    }

    private func apply(_ merged: MergedInstallation) {
        if merged.mustBeWritten {
            writeCount += 1
        } else {
            precondition(merged.changes.isEmpty, "a change of the registry would not be written")
            precondition(merged.events.isEmpty, "an event would not be written")
        }
        store(merged.installation)
        for change in merged.changes { registry[change.key] = change.row }
        events += merged.events
    }

    /// Encodes and decodes the installation, which must not change it, and stores it.
    private func store(_ installation: Installation) {
        guard let decoded = try? Installation.decode(installation.encoded(), with: reader),
            decoded == installation
        else { preconditionFailure("does not read back: \(installation)") }
        installations[installation.subject] = decoded
    }

    // MARK: Two ways to the registry

    /// The rows that the installations should have in the registry.
    var rowsOfInstallations: [RegistryKey: RegistryRow] {
        var rows: [RegistryKey: RegistryRow] = [:]
        for installation in installations.values {
            for (key, row) in RegistryRows(of: installation).list { rows[key] = row }
        }
        return rows
    }

    /// The rows that `RegistryModel` predicts: those of the present recipients, without `movedAt`. The rows of earlier
    /// recipients and `movedAt` depend on the order of arrival, which the model does not know.
    var rowsOfPresentRecipients: [RegistryKey: RegistryRow] {
        rowsOfInstallations.filter { key, row in isOfPresentRecipient(key, row) }.mapValues { row in
            guard case .token(var token) = row else { return row }
            token.movedAt = nil
            return .token(token)
        }
    }

    private func isOfPresentRecipient(_ key: RegistryKey, _ row: RegistryRow) -> Bool {
        switch row {
        case .token(let token):
            // A row that has moved away names its new recipient.
            return token.movedTo == nil
        case .profile:
            // The profile of a user has no installation. It does not move.
            return key.installation == nil || key.recipient == installation?.recipient
        }
    }

    /// The keys at which the registry differs from the rows of the installations. Times may differ by a write interval,
    /// because a repeated sign of life within it is not written.
    var keysThatDiffer: [RegistryKey] {
        let registry = registry
        let expectedRows = rowsOfInstallations
        return Set(registry.keys).union(expectedRows.keys).filter { key in
            guard let row = registry[key], let expectedRow = expectedRows[key] else { return true }
            return !row.agrees(with: expectedRow, within: merger.writeInterval)
        }
    }
}
