internal import Identifiers
internal import InstallationRecords
internal import Jobs
internal import Payloads
internal import Sends

extension PhoneDiagnosis {
    /// The time that a push may take before the answer calls it missing.
    static let onItsWayMilliseconds: Int64 = 120_000
    /// The number of versions in one sentence, the newest ones.
    private static let versionsMax = 3

    /// Returns the reason for what an activity shows.
    func reason(for activity: Installation.Activity) -> DisplayReason {
        var why = endReason(of: activity) ?? unreachableReason(of: activity) ?? shownReason(of: activity)
        (why.installation, why.activity, why.group) = (id, activity.id, activity.group?.value)
        return why
    }

    /// The newest version that APNs accepted for the activity: of an update, or of the start of its group.
    func version(of activity: Installation.Activity) -> Int64? { newestAccepted(for: activity)?.version }

    private func newestAccepted(for activity: Installation.Activity) -> TimelinePush? {
        pushes(about: activity).filter { $0.outcome == .accepted }.max { $0.version < $1.version }
    }

    private func pushes(about activity: Installation.Activity) -> [TimelinePush] {
        let own = pushes(to: .update(activity: activity.id))
        guard let group = activity.group?.value else { return own }
        return own
            + pushes.filter { $0.event == .start && $0.group.map { $0.isExactlyEqual(to: group) } == true }
    }

    // MARK: It is over

    private func endReason(of activity: Installation.Activity) -> DisplayReason? {
        switch installation.endCause(of: activity) {
        case .dismissed:
            let at = activity.closing?.dismissedByPersonAt?.event
            return DisplayReason(.dismissed, "the person dismissed it at \(Self.time(at ?? 0))", at: at)
        case .ended:
            let at = activity.closing?.endedAt?.event ?? activity.closing?.dismissedAt?.event
            return DisplayReason(.ended, "it ended at \(Self.time(at ?? 0))", at: at)
        case .unregistered:
            return DisplayReason(
                .unregistered,
                "nothing is sent to it: the app unregistered its type on this phone and has not registered it again"
            )
        case .notRunning:
            let at = installation.runningActivities?.at.event
            return DisplayReason(
                .notRunning,
                "it no longer runs: the phone listed its running activities at \(Self.time(at ?? 0)), and it was not in the list",
                at: at)
        case nil: break
        }
        guard activity.isExpired else { return nil }
        let at = activity.lastSeenAt?.received ?? activity.token?.at.received
        return DisplayReason(
            .silent,
            "nothing is sent to it: the last report about it came at \(Self.time(at ?? 0)), and its token has expired since",
            at: at)
    }

    // MARK: Nothing reaches it

    private func unreachableReason(of activity: Installation.Activity) -> DisplayReason? {
        if installation.activitiesEnabled?.value == false { return switchedOffReason }
        guard let token = activity.token else {
            return DisplayReason(
                .noToken,
                "no push can reach it yet: its update token has not been reported, which can take a few seconds"
            )
        }
        return unreachableReason(token: token, of: .update(activity: activity.id), word: "update token")
    }

    var switchedOffReason: DisplayReason {
        DisplayReason(
            .switchedOff,
            "no push can reach it: the person switched Live Activities off for the app at \(Self.time(installation.activitiesEnabled?.at.event ?? 0))",
            at: installation.activitiesEnabled?.at.event)
    }

    /// - Parameter word: The name of the token in the sentence.
    func unreachableReason(token: Installation.Token, of entry: RegistryKey.Entry, word: String)
        -> DisplayReason?
    {
        if let environment = installation.environment?.value, token.environment != environment {
            return DisplayReason(
                .otherEnvironment,
                "no push can reach it: its \(word) is for \(token.environment.rawValue), and the app on the phone uses \(environment.rawValue) now",
                at: token.at.event)
        }
        guard installation.isRefused(token) else { return nil }
        let refusal = refusal(of: entry, since: token.at.received)
        let marked = installation.refusedTokens.last { $0.hash == token.hash }?.at
        let at = refusal?.at ?? marked ?? 0
        let reason = refusal?.reason.map { " (\($0))" } ?? ""
        return DisplayReason(
            .refused,
            "no push can reach it: APNs rejected its \(word)\(reason) at \(Self.time(at)), and the phone has not reported a new one since",
            at: at)
    }

    // MARK: What it shows

    private func shownReason(of activity: Installation.Activity) -> DisplayReason {
        let about = pushes(about: activity)
        let last = newestAccepted(for: activity)
        guard let newest = newestSend(for: activity) else {
            if let last {
                return DisplayReason(
                    .showsNewest,
                    "it shows version \(last.version), which APNs accepted at \(Self.time(last.at))",
                    at: last.at)
            }
            return activity.group == nil
                ? DisplayReason(
                    .unknownGroup, "nothing was sent to it: the phone has not reported its group")
                : DisplayReason(
                    .nothingSent, "nothing was sent to it: its group had no send within three days")
        }
        if let last, last.version >= newest.version {
            return DisplayReason(
                .showsNewest,
                "it shows version \(last.version), the newest, which APNs accepted at \(Self.time(last.at))",
                at: last.at)
        }
        let shows =
            last.map { "it shows version \($0.version), the newest is \(newest.version)" }
            ?? "APNs accepted no version for it, the newest is \(newest.version)"
        let missing = finalPushes(of: about, above: last?.version ?? 0)
        let reported = missing.prefix(Self.versionsMax).reversed().map { "\($0.version) \($0.outcomeText)" }
        if let end = missing.first, end.version >= newest.version {
            return DisplayReason(end.reasonCode, "\(shows): \(reported.joined(separator: ", "))", at: end.at)
        }
        let isYoung = now - newest.acceptedAt < Self.onItsWayMilliseconds
        let rest = "\(newest.version) " + (isYoung ? "is on its way" : "has not been pushed to it")
        return DisplayReason(
            isYoung ? .onItsWay : .behind, "\(shows): \((reported + [rest]).joined(separator: ", "))",
            at: newest.acceptedAt)
    }

    /// Returns the newest send of the whole group or of its recipient alone, whichever is newer.
    private func newestSend(for activity: Installation.Activity) -> ScopeState? {
        let whole: ScopeKey =
            activity.group.map { ScopeKey(app: installation.app, group: $0.value) }
            ?? ScopeKey(app: installation.app, activity: activity.id)
        return [whole, whole.narrowed(to: installation.recipient)].compactMap { scopes[$0]?.newestState }
            .max { $0.version < $1.version }
    }

    /// Returns the final push of each version above `version`, newest version first.
    private func finalPushes(of pushes: [TimelinePush], above version: Int64) -> [TimelinePush] {
        var ends: [Int64: TimelinePush] = [:]
        for push in pushes where push.version > version {
            guard let known = ends[push.version] else {
                ends[push.version] = push
                continue
            }
            // The first final outcome of a job counts. Without one, the newest intermediate mark counts.
            let isBetter =
                push.outcome.isFinal
                ? !known.outcome.isFinal || push.at < known.at : !known.outcome.isFinal && push.at > known.at
            if isBetter { ends[push.version] = push }
        }
        return ends.values.sorted { $0.version > $1.version }
    }
}
