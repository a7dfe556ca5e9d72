package import LiveActivity

/// Merges the reports of one app: a report and what is known of its installation make what is known
/// then, what changes in the registry, and what people may want to hear of.
///
/// It decides and does nothing. What it makes depends on the set of the reports alone: their order, and
/// how often each of them comes, change nothing. Only the rows under a recipient that an installation has
/// left, and `movedAt`, follow the order in which it was seen to move. Owned by one thread.
package final class Merge {
    package let app: App
    let seal: TokenSeal
    package let grain: Grain
    private let tokenlessMilliseconds: Int64

    /// - Parameter tokenlessMilliseconds: an installation that has nothing to start with is forgotten when
    ///   nothing was heard of it for so long.
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
        /// The same again, or older than what is known.
        case unchanged
        case merged(ReportOutcome)
    }

    /// - Parameter installation: what is known of `report.subject`; nil for nothing.
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

    /// What time does to an installation, and the erasure of its user; nil where they do nothing. What time
    /// does is due at `nextSweep`, and where a clock that was ahead has ended something too soon.
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
        // What is due may wait for something else.
        if swept == installation { return nil }
        let changes = RegistryChange.between(installation, swept, touched: .all, merge: self)
        return Swept(installation: swept, changes: changes)
    }

    package func nextSweep(_ installation: Installation) -> Int64? {
        installation.forgetsAt(app, withoutTokens: tokenlessMilliseconds)
    }

    /// Nothing is known any more: as where the app was deleted.
    package static func bury(_ installation: Installation) -> Swept {
        let changes = RegistryRows(of: installation).list.map { RegistryChange(key: $0.key, row: nil) }
        return Swept(installation: nil, changes: changes)
    }

    private func check(_ report: Report, receivedAt: Int64, now: Int64) throws(ReportMisfit) {
        if receivedAt > now + Retention.clockMilliseconds {
            throw ReportMisfit(
                .receivedInFuture,
                "the record was written \((receivedAt - now) / 1000) s in the future; set the clock of its writer, then redrive it"
            )
        }
        if receivedAt < now - Retention.reportMilliseconds {
            throw ReportMisfit(
                .tooOld,
                "the record was written \((now - receivedAt) / 86_400_000) days ago, and its order is not known any more; have the phone report again"
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

/// What time has made of an installation.
package struct Swept: Sendable {
    /// Nil where nothing is known any more: its record is a tombstone.
    package var installation: Installation?
    package var changes: [RegistryChange]
}

/// What a report has made of an installation.
package struct ReportOutcome: Sendable {
    package var installation: Installation
    package var changes: [RegistryChange]
    package var events: [Event]
    /// False for a repetition that was already written down in the present grain: nothing has changed but
    /// the exact times, and these the local state keeps. Where it was rebuilt since, a report that comes late
    /// and contradicts what was repeated can stand until the phone repeats itself once more.
    package var isDue: Bool
}
