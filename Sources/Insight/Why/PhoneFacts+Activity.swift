internal import LiveActivity

extension PhoneFacts {
    /// How long a push may be on its way before its being missing is told as such.
    static let onItsWayMilliseconds: Int64 = 120_000
    /// Versions that one sentence tells apart, the newest.
    private static let versionsMax = 3

    /// Why an activity shows what it shows.
    func why(_ activity: Installation.Activity) -> Why {
        var why = over(activity) ?? unreachable(activity) ?? shown(activity)
        (why.installation, why.activity, why.group) = (id, activity.id, activity.group?.value)
        return why
    }

    /// The last version that APNs took for it: of an update, or of the start that brought its group.
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
            return Why(.dismissed, "dismissed by its owner at \(Self.time(at ?? 0))", at: at)
        case .ended:
            let at = activity.closing?.endedAt?.event ?? activity.closing?.dismissedAt?.event
            return Why(.ended, "ended at \(Self.time(at ?? 0))", at: at)
        case .unregistered:
            return Why(
                .unregistered,
                "nothing is sent to it: the app has unregistered its type on this phone, and has not reported it since"
            )
        case .notRunning:
            let at = installation.running?.at.event
            return Why(
                .notRunning,
                "it runs no more: the phone listed what runs at \(Self.time(at ?? 0)), and it was not among that",
                at: at)
        case nil: break
        }
        guard activity.isExpired else { return nil }
        let at = activity.heardAt?.received ?? activity.token?.at.received
        return Why(
            .silent,
            "nothing is sent to it: nothing was heard of it since \(Self.time(at ?? 0)), longer than its token lives",
            at: at)
    }

    // MARK: Nothing reaches it

    private func unreachable(_ activity: Installation.Activity) -> Why? {
        if installation.activitiesEnabled?.value == false { return switchedOff }
        guard let token = activity.token else {
            return Why(
                .noToken,
                "nothing can reach it yet: its update token has not been reported; it can take the phone a few seconds"
            )
        }
        return unreachable(token, of: .update(activity: activity.id), word: "update token")
    }

    var switchedOff: Why {
        Why(
            .switchedOff,
            "nothing can reach it: the person has switched Live Activities off for the app at \(Self.time(installation.activitiesEnabled?.at.event ?? 0))",
            at: installation.activitiesEnabled?.at.event)
    }

    /// - Parameter word: what the token is called.
    func unreachable(_ token: Installation.Token, of entry: RegistryKey.Entry, word: String) -> Why? {
        if let environment = installation.environment?.value, token.environment != environment {
            return Why(
                .otherEnvironment,
                "nothing can reach it: its \(word) is of \(token.environment.rawValue), and the app on the phone is of \(environment.rawValue) now",
                at: token.at.event)
        }
        guard installation.isRefused(token) else { return nil }
        let refusal = refusal(of: entry, since: token.at.received)
        let marked = installation.refused.last { $0.hash == token.hash }?.at
        let at = refusal?.at ?? marked ?? 0
        let reason = refusal?.reason.map { " (\($0))" } ?? ""
        return Why(
            .refused,
            "nothing can reach it: its \(word) was refused by APNs\(reason) at \(Self.time(at)), and the phone has not reported a new one since",
            at: at)
    }

    // MARK: What it shows

    private func shown(_ activity: Installation.Activity) -> Why {
        let about = pushesAbout(activity)
        let last = accepted(activity)
        guard let newest = newest(activity) else {
            if let last {
                return Why(
                    .showsNewest, "shows version \(last.version), accepted at \(Self.time(last.at))",
                    at: last.at)
            }
            return activity.group == nil
                ? Why(
                    .unknownGroup, "nothing was sent to it: the phone has not said which group it belongs to")
                : Why(
                    .nothingSent, "nothing was sent to it: no send has addressed its group within three days")
        }
        if let last, last.version >= newest.version {
            return Why(
                .showsNewest,
                "shows version \(last.version), the newest, accepted by APNs at \(Self.time(last.at))",
                at: last.at)
        }
        let shows =
            last.map { "shows version \($0.version), the newest is \(newest.version)" }
            ?? "no version was accepted for it, the newest is \(newest.version)"
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

    /// Of the whole group, or of its recipient alone, whichever is newer.
    private func newest(_ activity: Installation.Activity) -> ScopeState? {
        let whole: GroupKey =
            activity.group.map { GroupKey(app: installation.app, group: $0.value) }
            ?? GroupKey(app: installation.app, activity: activity.id)
        return [whole, whole.of(installation.recipient)].compactMap { scopes[$0]?.newest }
            .max { $0.version < $1.version }
    }

    /// The last word on each version above one, the newest version first.
    private func ends(of pushes: [PushSeen], above version: Int64) -> [PushSeen] {
        var ends: [Int64: PushSeen] = [:]
        for push in pushes where push.version > version {
            guard let known = ends[push.version] else {
                ends[push.version] = push
                continue
            }
            // A job's first last word counts; before it, the newest mark.
            let isBetter =
                push.outcome.isFinal
                ? !known.outcome.isFinal || push.at < known.at : !known.outcome.isFinal && push.at > known.at
            if isBetter { ends[push.version] = push }
        }
        return ends.values.sorted { $0.version > $1.version }
    }
}
