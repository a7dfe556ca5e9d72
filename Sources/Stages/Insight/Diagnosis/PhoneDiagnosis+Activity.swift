internal import Identifiers
internal import InstallationRecords
internal import Jobs
internal import Payloads
internal import Sends

extension PhoneDiagnosis {
    /// A push without a receipt counts as missing when this time has passed since the acceptance of its send.
    static let missingAfterMilliseconds: Int64 = 120_000
    /// The limit of versions in one sentence. The newest ones are named.
    private static let versionsMax = 3

    /// Returns the newest version that APNs accepted for the activity: of an update, or of a start of its
    /// group.
    func acceptedVersion(of activity: Installation.Activity) -> Int64? {
        newestAccepted(for: activity)?.version
    }

    private func newestAccepted(for activity: Installation.Activity) -> TimelinePush? {
        pushes(about: activity).filter { $0.outcome == .accepted }.max { $0.version < $1.version }
    }

    /// Returns the pushes to the activity, and the starts of its group: one of them has started it.
    private func pushes(about activity: Installation.Activity) -> [TimelinePush] {
        let pushesToActivity = pushes(to: .update(activity: activity.id))
        guard let group = activity.group?.value else { return pushesToActivity }
        let starts = pushes.filter { $0.event == .start && $0.group.isExactlyEqual(to: group) }
        return pushesToActivity + starts
    }

    // MARK: The end of an activity

    /// Returns the reason that the activity no longer runs, or nil if it runs.
    func endReason(of activity: Installation.Activity) -> DisplayReason? {
        switch installation.endCause(of: activity) {
        case .dismissed:
            let at = activity.closing?.dismissedByPersonAt?.event
            if let end = acceptedEnd(of: activity) {
                return DisplayReason(
                    .ended,
                    "it ended: APNs accepted its END at \(Self.time(end.at)), and it left the screen\(Self.timeSuffix(at))",
                    at: at)
            }
            return DisplayReason(.dismissed, "the person dismissed it\(Self.timeSuffix(at))", at: at)
        case .ended:
            let at = activity.closing?.endedAt?.event ?? activity.closing?.dismissedAt?.event
            return DisplayReason(.ended, "it ended\(Self.timeSuffix(at))", at: at)
        case .unregistered:
            return DisplayReason(
                .unregistered,
                "nothing is sent to it: the app unregistered its type on this phone and has not registered it again"
            )
        case .notRunning:
            let at = installation.runningActivities?.at.event
            return DisplayReason(
                .notRunning,
                "it no longer runs: the phone listed its running activities\(Self.timeSuffix(at)), and it was not in the list",
                at: at)
        case nil: break
        }
        guard isExpired(activity) else { return nil }
        let at = activity.lastSeenAt?.received ?? activity.token?.at.received
        return DisplayReason(
            .noReports,
            "nothing is sent to it: the last report about it came\(Self.timeSuffix(at)), and its token has expired since",
            at: at)
    }

    /// Returns the END that APNs accepted, or nil. After an END the system removes the activity, at the END's dismissal
    /// date or within hours, and the phone reports that as a dismissal.
    private func acceptedEnd(of activity: Installation.Activity) -> TimelinePush? {
        pushes(to: .update(activity: activity.id)).first { $0.event == .end && $0.outcome == .accepted }
    }

    /// Whether the token of the activity has expired. The sweep marks it in the installation only later.
    func isExpired(_ activity: Installation.Activity) -> Bool {
        activity.isExpired || (activity.token != nil && installation.expirationTime(of: activity) <= now)
    }

    // MARK: An activity that no push can reach

    /// Returns the reason that no push can reach the activity, or nil.
    func unreachableReason(of activity: Installation.Activity) -> DisplayReason? {
        if installation.activitiesEnabled?.value == false { return switchedOffReason }
        guard let token = activity.token else {
            return DisplayReason(
                .noToken,
                "no push can reach it yet: its update token has not been reported, which can take a few seconds"
            )
        }
        return unreachableReason(
            token: token, of: .update(activity: activity.id), tokenName: "update token")
    }

    var switchedOffReason: DisplayReason {
        DisplayReason(
            .switchedOff,
            "no push can reach it: the person switched Live Activities off for the app\(Self.timeSuffix(installation.activitiesEnabled?.at.event))",
            at: installation.activitiesEnabled?.at.event)
    }

    /// Returns the reason that no push to the token can arrive, or nil.
    ///
    /// - Parameter tokenName: The name of the token in the sentence.
    func unreachableReason(token: Installation.Token, of entry: RegistryKey.Entry, tokenName: String)
        -> DisplayReason?
    {
        if let environment = installation.environment?.value, token.environment != environment {
            return DisplayReason(
                .otherEnvironment,
                "no push can reach it: its \(tokenName) is for \(token.environment.rawValue), and the app on the phone uses \(environment.rawValue) now",
                at: token.at.event)
        }
        guard installation.isRefused(token) else { return nil }
        let refusal = newestRefusal(of: entry, since: token.at.received)
        let recordedAt = installation.refusedTokens.last { $0.hash == token.hash }?.at
        let at = refusal?.at ?? recordedAt
        let reason = refusal?.reason.map { " (\($0))" } ?? ""
        return DisplayReason(
            .refused,
            "no push can reach it: APNs rejected its \(tokenName)\(reason)\(Self.timeSuffix(at)), and the phone has not reported a new one since",
            at: at)
    }

    // MARK: The version that an activity shows

    /// Returns the reason for the version that a running, reachable activity shows. If it is not the newest version,
    /// the sentence names the outcome of each newer one.
    func shownReason(of activity: Installation.Activity) -> DisplayReason {
        let accepted = newestAccepted(for: activity)
        guard let newest = newestState(for: activity) else {
            return reasonWithoutSend(of: activity, accepted: accepted)
        }
        if let accepted, accepted.version >= newest.version {
            return DisplayReason(
                .showsNewest,
                "it shows version \(accepted.version), the newest, which APNs accepted at \(Self.time(accepted.at))",
                at: accepted.at)
        }
        let shownText =
            accepted.map { "it shows version \($0.version), the newest is \(newest.version)" }
            ?? "no version is known to be on it, the newest is \(newest.version)"
        let newestFirst = decisivePushes(of: pushes(about: activity), above: accepted?.version ?? 0)
        // The sentence names the versions in the order of time.
        let newerTexts = newestFirst.prefix(Self.versionsMax).reversed()
            .map { "\($0.version) \($0.outcomeText(at: now))" }
        if let latest = newestFirst.first, latest.version >= newest.version {
            // The push of the newest version has an outcome, which is the reason.
            return DisplayReason(
                latest.reasonCode(at: now), "\(shownText): \(newerTexts.joined(separator: ", "))",
                at: latest.at)
        }
        return reasonWithoutReceipt(of: newest, shownText: shownText, newerTexts: newerTexts)
    }

    /// Returns the reason if no push of the newest send has a receipt.
    ///
    /// - Parameters:
    ///   - shownText: The clause about the version that the activity shows.
    ///   - newerTexts: The outcomes of newer versions that have receipts.
    private func reasonWithoutReceipt(of newest: ScopeState, shownText: String, newerTexts: [String])
        -> DisplayReason
    {
        let isYoung = now - newest.acceptedAt < Self.missingAfterMilliseconds
        let newestText = "\(newest.version) " + (isYoung ? "is on its way" : "has not been pushed to it")
        return DisplayReason(
            isYoung ? .onItsWay : .newestNotPushed,
            "\(shownText): \((newerTexts + [newestText]).joined(separator: ", "))",
            at: newest.acceptedAt)
    }

    private func reasonWithoutSend(
        of activity: Installation.Activity, accepted: TimelinePush?
    ) -> DisplayReason {
        if let accepted {
            return DisplayReason(
                .showsNewest,
                "it shows version \(accepted.version), which APNs accepted at \(Self.time(accepted.at))",
                at: accepted.at)
        }
        // The states of a group are kept for three days after its last send (`GroupRow.retentionMilliseconds`).
        return activity.group == nil
            ? DisplayReason(
                .unknownGroup, "nothing was sent to it: the phone has not reported its group")
            : DisplayReason(
                .nothingSent, "nothing was sent to it: its group had no send within three days")
    }

    /// Returns the newer one of two states: the newest that was sent to the whole group, and the newest that was sent
    /// to the recipient alone. Without a known group, the sends to the activity's own scope count.
    func newestState(for activity: Installation.Activity) -> ScopeState? {
        let scope: ScopeKey =
            activity.group.map { ScopeKey(app: installation.app, group: $0.value) }
            ?? ScopeKey(app: installation.app, activity: activity.id)
        return [scope, scope.narrowed(to: installation.recipient)].compactMap { scopes[$0]?.newestState }
            .max { $0.version < $1.version }
    }

    /// Returns the push that decides about each version above `version`, newest version first.
    private func decisivePushes(of pushes: [TimelinePush], above version: Int64) -> [TimelinePush] {
        var decisive: [Int64: TimelinePush] = [:]
        for push in pushes where push.version > version {
            if let known = decisive[push.version], !push.isMoreDecisive(than: known) { continue }
            decisive[push.version] = push
        }
        return decisive.values.sorted { $0.version > $1.version }
    }
}

extension TimelinePush {
    /// Whether this push decides about a version that `known` has too. The first final outcome of a job
    /// counts. Without a final outcome, the newest intermediate outcome counts.
    fileprivate func isMoreDecisive(than known: TimelinePush) -> Bool {
        if outcome.isFinal != known.outcome.isFinal { return outcome.isFinal }
        return outcome.isFinal ? at < known.at : at > known.at
    }
}
