package import CatalogRecords
internal import Identifiers
package import InstallationRecords
package import TokenSealing

/// The merge of reports into the installations of one app. A report and a known installation give the new
/// installation, the changes of the registry, and the events.
///
/// The merge decides and performs no I/O. The result depends only on the set of reports. Their order and
/// their repetitions change nothing. Two exceptions follow the order in which the moves of an installation
/// arrived: the rows under a recipient that it left, and `movedAt`. One thread owns a merge.
package final class ReportMerger {
    package let app: App
    let seal: TokenSeal
    package let writeInterval: WriteInterval
    private let tokenlessMilliseconds: Int64

    /// - Parameter tokenlessMilliseconds: An installation without a start token is forgotten this long after
    ///   its last report.
    package init(
        app: App, seal: TokenSeal, tokenlessMilliseconds: Int64 = Retention.tokenlessMilliseconds
    ) {
        self.app = app
        self.seal = seal
        self.tokenlessMilliseconds = tokenlessMilliseconds
        writeInterval = WriteInterval(for: app)
    }

    package enum Outcome: Sendable {
        case rejected(RejectedReport)
        /// The report was identical or older than the known state.
        case unchanged
        case merged(ReportOutcome)
    }

    /// Merges one report.
    ///
    /// - Parameter installation: The known state of `report.subject`, or nil.
    package func merge(
        _ report: Report, arrival: ReportArrival, into installation: Installation?, now: Int64
    ) -> Outcome {
        do throws(RejectedReport) {
            try validate(report, receivedAt: arrival.receivedAt, now: now)
            let known = installation ?? Installation(app: report.app, subject: report.subject)
            var context = MergeContext(installation: known, at: arrival.reportTime(of: report))
            try mergeFields(from: report, into: &context)
            if context.hasNoEffect { return .unchanged }
            return .merged(finish(&context, from: installation, now: now))
        } catch {
            return .rejected(error)
        }
    }

    /// Applies the passage of time and the erasure of the user. Returns nil if nothing changes. A sweep is
    /// due at `nextSweep`, and also if a clock that was ahead marked something as expired too early.
    package func sweep(
        _ installation: Installation, erasing erasures: ErasedUsers = ErasedUsers(), now: Int64
    ) -> SweepResult? {
        let erased = erasures.erasing(from: installation)
        let isDue = nextSweep(of: installation).map { $0 <= now } ?? false
        guard erased != nil || isDue || installation.hasExpiredTooSoon(at: now, for: app) else { return nil }
        var swept = erased ?? installation
        swept.prune(at: now, for: app)
        if swept.isObsolete(at: now, tokenlessMilliseconds: tokenlessMilliseconds) {
            return Self.tombstones(of: installation)
        }
        // A due installation may still wait for another condition.
        if swept == installation { return nil }
        let changes = RegistryChange.between(installation, and: swept, affectedRows: .all, merger: self)
        return SweepResult(installation: swept, changes: changes)
    }

    package func nextSweep(of installation: Installation) -> Int64? {
        installation.nextPruning(for: app, tokenlessMilliseconds: tokenlessMilliseconds)
    }

    /// Returns the tombstones of all rows, for example after the app was deleted.
    package static func tombstones(of installation: Installation) -> SweepResult {
        let changes = RegistryRows(of: installation).list.map { RegistryChange(key: $0.key, row: nil) }
        return SweepResult(installation: nil, changes: changes)
    }

    private func validate(_ report: Report, receivedAt: Int64, now: Int64) throws(RejectedReport) {
        if receivedAt > now + Retention.clockSkewMillisecondsMax {
            throw RejectedReport(
                code: .receivedInFuture,
                description:
                    "the record was written \((receivedAt - now) / 1000) s in the future; correct the writer's clock, then redrive the record"
            )
        }
        if receivedAt < now - Retention.reportMilliseconds {
            throw RejectedReport(
                code: .tooOld,
                description:
                    "the record was written \((now - receivedAt) / 86_400_000) days ago, so its order is unknown; have the phone report again"
            )
        }
        if let environment = report.environment, !app.environments.contains(environment) {
            throw RejectedReport(
                code: .environmentNotAllowed,
                description:
                    "the app does not use \(environment.rawValue); allow it with flotilla apps, then redrive the record"
            )
        }
    }

    private func finish(_ context: inout MergeContext, from old: Installation?, now: Int64) -> ReportOutcome {
        guard context.isChanged || context.mustWrite else {
            return ReportOutcome(
                installation: context.installation, changes: [], events: [], mustBeWritten: false)
        }
        if context.hasMoved, let old {
            context.installation.move(from: old, at: context.time.received, now: now)
        }
        if context.installation.prune(at: now, for: app) { context.affectedRows.insertAll() }
        let changes = RegistryChange.between(
            old, and: context.installation, affectedRows: context.affectedRows, merger: self)
        if context.isChanged { appendClosedEvents(from: old, to: &context) }
        return ReportOutcome(
            installation: context.installation, changes: changes, events: context.events, mustBeWritten: true)
    }
}

/// The result of a sweep of one installation.
package struct SweepResult: Sendable {
    /// Nil if the installation is forgotten. Its record is then a tombstone.
    package var installation: Installation?
    package var changes: [RegistryChange]
}

/// The result of one report for its installation.
package struct ReportOutcome: Sendable {
    package var installation: Installation
    package var changes: [RegistryChange]
    package var events: [Event]
    /// Whether the record must be written. False for a repetition in a write interval that already has a
    /// write: only exact times changed, and the local state keeps them. After a rebuild of the local state, a
    /// late report can contradict the repeated value. It then stands until the phone repeats its report.
    package var mustBeWritten: Bool
}
