internal import LiveActivity

extension PhoneFacts {
    /// The time that a push may take before the answer calls it missing.
    static let onItsWayMilliseconds: Int64 = 120_000
    /// The number of versions in one sentence, the newest ones.
    private static let versionsMax = 3

    /// Returns the reason for what an activity shows.
    func why(_ activity: Installation.Activity) -> Why {
        var why = over(activity) ?? unreachable(activity) ?? shown(activity)
        (why.installation, why.activity, why.group) = (id, activity.id, activity.group?.value)
        return why
    }

    /// The newest version that APNs accepted for the activity: of an update, or of the start of its group.
    func version(of activity: Installation.Activity) -> Int64? { accepted(activity)?.version }

    private func accepted(_ activity: Installation.Activity) -> PushSeen? {
        pushesAbout(activity).filter { $0.outcome == .accepted }.max { $0.version < $1.version }
    }

    private func pushesAbout(_ activity: Installation.Activity) -> [PushSeen] {
        let own = pushes(to: .update(activity: activity.id))
        guard let group = activity.group?.value else { return own }
        return own + pushes.filter { $0.event == .start && $0.group.map { $0.isExactly(group) } == true }
    }

    // MARK: It is over

    private func over(_ activity: Installation.Activity) -> Why? {
        switch installation.overBy(activity) {
        case .dismissed:
            let at = activity.closing?.dismissedByPersonAt?.event
            return Why(.dismissed, "the person dismissed it at \(Self.time(at ?? 0))", at: at)
        case .ended:
            let at = activity.closing?.endedAt?.event ?? activity.closing?.dismissedAt?.event
            return Why(.ended, "it ended at \(Self.time(at ?? 0))", at: at)
        case .unregistered:
            return Why(
                .unregistered,
                "nothing is sent to it: the app unregistered its type on this phone and has not registered it again"
            )
        case .notRunning:
            let at = installation.running?.at.event
            return Why(
                .notRunning,
                "it no longer runs: the phone listed its running activities at \(Self.time(at ?? 0)), and it was not in the list",
                at: at)
        case nil: break
        }
        guard activity.isExpired else { return nil }
        let at = activity.heardAt?.received ?? activity.token?.at.received
        return Why(
            .silent,
            "nothing is sent to it: the last report about it came at \(Self.time(at ?? 0)), and its token has expired since",
            at: at)
    }

    // MARK: Nothing reaches it

    private func unreachable(_ activity: Installation.Activity) -> Why? {
        if installation.activitiesEnabled?.value == false { return switchedOff }
        guard let token = activity.token else {
            return Why(
                .noToken,
                "no push can reach it yet: its update token has not been reported, which can take a few seconds"
            )
        }
        return unreachable(token, of: .update(activity: activity.id), word: "update token")
    }

    var switchedOff: Why {
        Why(
            .switchedOff,
            "no push can reach it: the person switched Live Activities off for the app at \(Self.time(installation.activitiesEnabled?.at.event ?? 0))",
            at: installation.activitiesEnabled?.at.event)
    }

    /// - Parameter word: The name of the token in the sentence.
    func unreachable(_ token: Installation.Token, of entry: RegistryKey.Entry, word: String) -> Why? {
        if let environment = installation.environment?.value, token.environment != environment {
            return Why(
                .otherEnvironment,
                "no push can reach it: its \(word) is for \(token.environment.rawValue), and the app on the phone uses \(environment.rawValue) now",
                at: token.at.event)
        }
        guard installation.isRefused(token) else { return nil }
        let refusal = refusal(of: entry, since: token.at.received)
        let marked = installation.refused.last { $0.hash == token.hash }?.at
        let at = refusal?.at ?? marked ?? 0
        let reason = refusal?.reason.map { " (\($0))" } ?? ""
        return Why(
            .refused,
            "no push can reach it: APNs rejected its \(word)\(reason) at \(Self.time(at)), and the phone has not reported a new one since",
            at: at)
    }

    // MARK: What it shows

    private func shown(_ activity: Installation.Activity) -> Why {
        let about = pushesAbout(activity)
        let last = accepted(activity)
        guard let newest = newest(activity) else {
            if let last {
                return Why(
                    .showsNewest,
                    "it shows version \(last.version), which APNs accepted at \(Self.time(last.at))",
                    at: last.at)
            }
            return activity.group == nil
                ? Why(
                    .unknownGroup, "nothing was sent to it: the phone has not reported its group")
                : Why(
                    .nothingSent, "nothing was sent to it: its group had no send within three days")
        }
        if let last, last.version >= newest.version {
            return Why(
                .showsNewest,
                "it shows version \(last.version), the newest, which APNs accepted at \(Self.time(last.at))",
                at: last.at)
        }
        let shows =
            last.map { "it shows version \($0.version), the newest is \(newest.version)" }
            ?? "APNs accepted no version for it, the newest is \(newest.version)"
        let missing = ends(of: about, above: last?.version ?? 0)
        let told = missing.prefix(Self.versionsMax).reversed().map { "\($0.version) \($0.ending)" }
        if let end = missing.first, end.version >= newest.version {
            return Why(end.code, "\(shows): \(told.joined(separator: ", "))", at: end.at)
        }
        let isYoung = now - newest.acceptedAt < Self.onItsWayMilliseconds
        let rest = "\(newest.version) " + (isYoung ? "is on its way" : "has not been pushed to it")
        return Why(
            isYoung ? .onItsWay : .behind, "\(shows): \((told + [rest]).joined(separator: ", "))",
            at: newest.acceptedAt)
    }

    /// Returns the newest send of the whole group or of its recipient alone, whichever is newer.
    private func newest(_ activity: Installation.Activity) -> ScopeState? {
        let whole: GroupKey =
            activity.group.map { GroupKey(app: installation.app, group: $0.value) }
            ?? GroupKey(app: installation.app, activity: activity.id)
        return [whole, whole.of(installation.recipient)].compactMap { scopes[$0]?.newest }
            .max { $0.version < $1.version }
    }

    /// Returns the final push of each version above `version`, newest version first.
    private func ends(of pushes: [PushSeen], above version: Int64) -> [PushSeen] {
        var ends: [Int64: PushSeen] = [:]
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
