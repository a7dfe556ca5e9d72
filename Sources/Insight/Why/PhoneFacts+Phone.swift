internal import LiveActivity

extension PhoneFacts {
    /// Why the phone shows what it shows: what stops everything, then its activities, then its start tokens.
    var why: Why {
        var why = wholePhone ?? activities ?? starts
        why.installation = id
        return why
    }

    private var wholePhone: Why? {
        if installation.starts.isEmpty, installation.activities.isEmpty {
            return systemTooOld
                ?? Why(
                    .nothingReported,
                    "nothing can reach it: no token has been reported; the SDK sends startToken and updateToken"
                )
        }
        if installation.activitiesEnabled?.value == false { return switchedOff }
        return nil
    }

    /// Of what runs, what is not well goes first, then the newest; of what is over, the newest.
    private var activities: Why? {
        let running = installation.activities.filter { installation.isRunning($0) }.map(why)
            .sorted { ($0.at ?? 0) > ($1.at ?? 0) }
        if let worst = running.first(where: { !$0.code.isWell }) ?? running.first { return worst }
        let over = installation.activities.map(why).max { ($0.at ?? 0) < ($1.at ?? 0) }
        guard let over else { return nil }
        // A start that came later says more than an activity that is over.
        if let start = lastStart, start.at > over.at ?? 0 { return nil }
        return over
    }

    private var systemTooOld: Why? {
        guard let os = installation.os?.value, let version = OSVersion(os), version < OSVersion.pushToStart
        else { return nil }
        return Why(
            .system,
            "nothing can start on it: iOS \(os) starts no activity by push; that begins with iOS 17.2")
    }

    private var lastStart: PushSeen? { pushes.filter { $0.event == .start }.max { $0.at < $1.at } }

    private var starts: Why {
        for start in installation.starts {
            guard let token = start.token, installation.isUsable(start) == false else { continue }
            if start.isUnwanted { continue }
            if let why = unreachable(token, of: .start(type: start.type), word: "start token") { return why }
        }
        if installation.starts.contains(where: \.isUnwanted),
            !installation.starts.contains(where: { installation.isUsable($0) })
        {
            return Why(
                .unregistered,
                "nothing can start on it: the app has unregistered the type on this phone; a token that is reported later counts again"
            )
        }
        if let why = systemTooOld { return why }
        guard let start = lastStart else {
            return Why(.nothingSent, "it can be reached, and nothing was sent to it within seven days")
        }
        if start.outcome == .accepted {
            return Why(
                .started,
                "APNs accepted a start\(start.group.map { " of group \($0)" } ?? "") at \(Self.time(start.at)); the phone has not reported the activity",
                at: start.at)
        }
        return Why(
            start.code,
            "the start\(start.group.map { " of group \($0)" } ?? "") \(start.ending)", at: start.at)
    }
}
