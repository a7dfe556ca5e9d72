package import LiveActivity

/// The merge of reports into the installations of one app. A report and a known installation give the new
/// installation, the changes of the registry, and the events.
///
/// The merge decides and performs no I/O. The result depends only on the set of reports. Their order and
/// their repetitions change nothing. Two exceptions follow the order in which the moves of an installation
/// arrived: the rows under a recipient that it left, and `movedAt`. One thread owns a merge.
package final class Merge {
    package let app: App
    let seal: TokenSeal
    package let grain: Grain
    private let tokenlessMilliseconds: Int64

    /// - Parameter tokenlessMilliseconds: An installation without a start token is forgotten this long after
    ///   its last report.
    package init(
        app: App, seal: TokenSeal, tokenlessMilliseconds: Int64 = Retention.tokenlessMilliseconds
    ) {
        self.app = app
        self.seal = seal
        self.tokenlessMilliseconds = tokenlessMilliseconds
        grain = Grain(for: app)
    }

    package enum Outcome: Sendable {
        case rejected(ReportMisfit)
        /// The report was identical or older than the known state.
        case unchanged
        case merged(ReportOutcome)
    }

    /// Merges one report.
    ///
    /// - Parameter installation: The known state of `report.subject`, or nil.
    package func merge(
        _ report: Report, _ arrival: Arrival, into installation: Installation?, now: Int64
    ) -> Outcome {
        do throws(ReportMisfit) {
            try check(report, receivedAt: arrival.receivedAt, now: now)
            let known = installation ?? Installation(app: report.app, subject: report.subject)
            var hearing = Hearing(known, at: arrival.time(of: report))
            try hear(report, &hearing)
            if hearing.isSilent { return .unchanged }
            return .merged(finish(&hearing, from: installation, now: now))
        } catch {
            return .rejected(error)
        }
    }

    /// Applies the passage of time and the erasure of the user. Returns nil if nothing changes. A sweep is
    /// due at `nextSweep`, and also if a clock that was ahead marked something as expired too early.
    package func sweep(
        _ installation: Installation, _ erasures: Erasures = Erasures(), now: Int64
    ) -> Swept? {
        let left = erasures.erase(installation)
        let isDue = nextSweep(installation).map { $0 <= now } ?? false
        guard left != nil || isDue || installation.hasExpiredTooSoon(at: now, app) else { return nil }
        var swept = left ?? installation
        swept.forget(at: now, app)
        if swept.isForgotten(at: now, withoutTokens: tokenlessMilliseconds) {
            return Self.bury(installation)
        }
        // A due installation may still wait for another condition.
        if swept == installation { return nil }
        let changes = RegistryChange.between(installation, swept, touched: .all, merge: self)
        return Swept(installation: swept, changes: changes)
    }

    package func nextSweep(_ installation: Installation) -> Int64? {
        installation.forgetsAt(app, withoutTokens: tokenlessMilliseconds)
    }

    /// Returns the tombstones of all rows, for example after the app was deleted.
    package static func bury(_ installation: Installation) -> Swept {
        let changes = RegistryRows(of: installation).list.map { RegistryChange(key: $0.key, row: nil) }
        return Swept(installation: nil, changes: changes)
    }

    private func check(_ report: Report, receivedAt: Int64, now: Int64) throws(ReportMisfit) {
        if receivedAt > now + Retention.clockMilliseconds {
            throw ReportMisfit(
                .receivedInFuture,
                "the record was written \((receivedAt - now) / 1000) s in the future; correct the writer's clock, then redrive the record"
            )
        }
        if receivedAt < now - Retention.reportMilliseconds {
            throw ReportMisfit(
                .tooOld,
                "the record was written \((now - receivedAt) / 86_400_000) days ago, so its order is unknown; have the phone report again"
            )
        }
        if let environment = report.environment, !app.environments.contains(environment) {
            throw ReportMisfit(
                .environmentNotAllowed,
                "the app does not use \(environment.rawValue); allow it with flotilla apps, then redrive the record"
            )
        }
    }

    private func finish(_ hearing: inout Hearing, from old: Installation?, now: Int64) -> ReportOutcome {
        guard hearing.isChanged || hearing.isGrainCrossed else {
            return ReportOutcome(installation: hearing.installation, changes: [], events: [], isDue: false)
        }
        if hearing.hasMoved, let old {
            hearing.installation.move(from: old, at: hearing.time.received, now: now)
        }
        if hearing.installation.forget(at: now, app) { hearing.touched.touchEverything() }
        let changes = RegistryChange.between(old, hearing.installation, touched: hearing.touched, merge: self)
        if hearing.isChanged { appendClosings(from: old, to: &hearing) }
        return ReportOutcome(
            installation: hearing.installation, changes: changes, events: hearing.events, isDue: true)
    }
}

/// The result of a sweep of one installation.
package struct Swept: Sendable {
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
    package var isDue: Bool
}
