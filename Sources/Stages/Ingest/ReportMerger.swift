package import CatalogRecords
internal import Identifiers
package import InstallationRecords
package import TokenSealing

/// The rules by which reports are merged into the installations of one app. From a report and the known installation it
/// makes the new installation, the changes of the registry, and the events. It performs no I/O. Only the thread of
/// ingest's loop uses it.
///
/// For each value of an installation the later report wins (`Timestamped.merge`). Reports are ordered by the phone's
/// time, then by the time and position of their arrival (`ReportTime`). Only for the end of an activity the earliest
/// report wins. A missing value changes nothing.
///
/// The result therefore depends only on the set of reports. Their order and their repetitions change nothing. Three
/// things depend on the order of arrival: the rows that are left under a former recipient, `movedAt`, and the proof of
/// a token, which applies to the token that is known when the proof arrives.
package final class ReportMerger {
    package let app: App
    let tokenSeal: TokenSeal
    package let writeInterval: WriteInterval
    private let tokenlessMilliseconds: Int64

    /// - Parameter tokenlessMilliseconds: the time for which an installation without a start token is kept after its
    ///   last report.
    package init(
        app: App, seal: TokenSeal, tokenlessMilliseconds: Int64 = Retention.tokenlessMilliseconds
    ) {
        self.app = app
        self.tokenSeal = seal
        self.tokenlessMilliseconds = tokenlessMilliseconds
        writeInterval = WriteInterval(for: app)
    }

    /// The result of one report.
    package enum Outcome: Sendable {
        case rejected(RejectedReport)
        /// The report added nothing, not even a later time.
        case unchanged
        case merged(MergedInstallation)
    }

    // MARK: One report

    /// Merges one report.
    ///
    /// - Parameters:
    ///   - installation: the known state of `report.subject`, or nil.
    ///   - now: the time of the decision, in milliseconds since 1970.
    package func merge(
        _ report: Report, arrival: ReportArrival, into installation: Installation?, now: Int64
    ) -> Outcome {
        do throws(RejectedReport) {
            try validate(report, receivedAt: arrival.receivedAt, now: now)
            let oldInstallation = installation ?? Installation(app: report.app, subject: report.subject)
            var context = MergeContext(installation: oldInstallation, at: arrival.reportTime(of: report))
            try mergeFields(from: report, into: &context)
            if context.effect == .none { return .unchanged }
            return .merged(completeMerge(&context, from: installation, now: now))
        } catch {
            return .rejected(error)
        }
    }

    private func validate(_ report: Report, receivedAt: Int64, now: Int64) throws(RejectedReport) {
        if receivedAt > now + Retention.clockSkewMillisecondsMax {
            throw RejectedReport(
                code: .receivedInFuture,
                description:
                    "the record was written \((receivedAt - now) / 1000) s in the future; correct the writer's clock, then redrive the record"
            )
        }
        if receivedAt < now - Retention.reportAgeMillisecondsMax {
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

    /// Merges all fields of a report. A missing field leaves the known value unchanged.
    func mergeFields(from report: Report, into context: inout MergeContext) throws(RejectedReport) {
        switch report.kind {
        // These reports come from the sender and from ingest itself. They name a token only by its hash and
        // bring no data of a person. So an erasure does not drop them as a whole: each has its own rule.
        case .deadToken: try mergeTokenRefusal(from: report, into: &context)
        case .provenToken: try mergeTokenProof(from: report, into: &context)
        case .tokenTakenOver: try mergeTakenOverToken(from: report, into: &context)
        case .startToken, .updateToken, .state, .unregister, .reconcile, .heartbeat, .tap, .profile, .erase:
            try mergeReportOfPhone(report, into: &context)
        }
    }

    /// Merges a report of a phone, or of a backend for a user.
    private func mergeReportOfPhone(_ report: Report, into context: inout MergeContext) throws(RejectedReport)
    {
        // The report is older than the erasure.
        if let erasedAt = context.installation.erasedUpTo, context.time <= erasedAt {
            return mergeOnlyFinalState(from: report, into: &context)
        }
        if report.kind == .erase {
            context.installation.erase(upTo: context.time)
            context.affectedRows.insertAll()
            return context.markChanged()
        }
        mergeDevice(from: report, into: &context)
        mergeProfile(from: report, into: &context)
        switch report.kind {
        case .startToken: try mergeStartToken(from: report, into: &context)
        case .updateToken: try mergeUpdateToken(from: report, into: &context)
        case .state: try mergeActivityState(from: report, into: &context)
        case .unregister: try mergeUnregistration(from: report, into: &context)
        case .reconcile: try mergeRunningActivities(from: report, into: &context)
        case .heartbeat: if report.activity != nil { try mergeSignOfLife(from: report, into: &context) }
        case .tap: try mergeTap(from: report, into: &context)
        // The fields of a profile are merged above, and an erasure has returned. `mergeFields` handles the other kinds.
        case .profile, .erase, .deadToken, .provenToken, .tokenTakenOver: break
        }
    }

    /// Completes a merge after all fields: applies a move and the passage of time, and makes the changes and
    /// events. If only times have changed, and none of them is due for a write (`WriteInterval`), the rows
    /// stay as they are.
    private func completeMerge(_ context: inout MergeContext, from old: Installation?, now: Int64)
        -> MergedInstallation
    {
        let needsWrite = context.effect >= .repeatedAndDue
        guard needsWrite else {
            return MergedInstallation(
                installation: context.installation, changes: [], events: [], mustBeWritten: false)
        }
        if context.hasMoved, let old {
            context.installation.move(from: old, at: context.time.received, now: now)
        }
        let hasPruned = context.installation.prune(at: now, for: app)
        if hasPruned { context.affectedRows.insertAll() }
        // The changes depend on the app and the write interval of this merger.
        let changes = RegistryChange.between(
            old, and: context.installation, affectedRows: context.affectedRows, merger: self)
        if context.effect == .changed { appendClosedEvents(from: old, to: &context) }
        return MergedInstallation(
            installation: context.installation, changes: changes, events: context.events,
            claim: context.claim, mustBeWritten: true)
    }

    // MARK: Erasure

    /// Erases users from an installation. Returns nil if nothing changes. An installation that is empty then stays
    /// until its next sweep.
    ///
    /// - Parameter now: milliseconds since 1970.
    package func erase(_ erasures: ErasedUsers, from installation: Installation, now: Int64)
        -> MergedInstallation?
    {
        guard var erased = erasures.erasing(from: installation) else { return nil }
        erased.prune(at: now, for: app)
        let changes = RegistryChange.between(installation, and: erased, affectedRows: .all, merger: self)
        return MergedInstallation(installation: erased, changes: changes, events: [], mustBeWritten: true)
    }

    // MARK: Time

    /// Applies the passage of time and the erasures of users to an installation. Returns nil if nothing changes.
    ///
    /// A sweep is due at `nextSweep`. It is also due if a clock that was ahead has marked a token as expired too early.
    ///
    /// - Parameter now: milliseconds since 1970.
    package func sweep(
        _ installation: Installation, erasing erasures: ErasedUsers = ErasedUsers(), now: Int64
    ) -> SweptInstallation? {
        let erased = erasures.erasing(from: installation)
        let isDue = nextSweep(of: installation).map { $0 <= now } ?? false
        guard erased != nil || isDue || installation.hasExpiredTooSoon(at: now, for: app) else { return nil }
        var swept = erased ?? installation
        swept.prune(at: now, for: app)
        if swept.isObsolete(at: now, tokenlessMilliseconds: tokenlessMilliseconds) {
            return Self.tombstones(of: installation)
        }
        // A time that is due need not change anything, because another condition can keep the
        // installation: for example it has had no token for long enough, but an activity still runs.
        if swept == installation { return nil }
        let changes = RegistryChange.between(installation, and: swept, affectedRows: .all, merger: self)
        return SweptInstallation(installation: swept, changes: changes)
    }

    /// Returns the time at which a sweep of the installation is due, in milliseconds since 1970, or nil for never.
    package func nextSweep(of installation: Installation) -> Int64? {
        installation.nextPruning(for: app, tokenlessMilliseconds: tokenlessMilliseconds)
    }

    /// Returns the removal of an installation and all its rows, for example after its app was deleted.
    package static func tombstones(of installation: Installation) -> SweptInstallation {
        let changes = RegistryRows(of: installation).list.map { RegistryChange(key: $0.key, row: nil) }
        return SweptInstallation(installation: nil, changes: changes)
    }
}

/// An installation after a report, with the records that the report causes.
package struct MergedInstallation: Sendable {
    package var installation: Installation
    package var changes: [RegistryChange]
    package var events: [Event]
    /// The installation's claim of a start token, or nil.
    package var claim: TokenClaim?
    /// Whether the record of the installation must be written.
    ///
    /// It is false for a repetition within a write interval that already has a write. Then only times have changed, and
    /// they stay in the overlay and in the view. If both are lost, the known times are too old until the phone repeats
    /// its report. Until then a report that arrives late can win.
    package var mustBeWritten: Bool
}

/// The result of a sweep of one installation.
package struct SweptInstallation: Sendable {
    /// Nil if the installation is forgotten. Its record is then a tombstone.
    package var installation: Installation?
    package var changes: [RegistryChange]
}
