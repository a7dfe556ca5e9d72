internal import LiveActivity

extension Installation {
    /// Drops what time has made worthless, and what is past a limit.
    ///
    /// The record of an activity outlives its token by what a report may be late: until then nothing that
    /// is older can come back, and what was late itself still counts.
    mutating func forget(at now: Int64, _ app: App) {
        if moved.contains(where: { $0.until <= now }) { moved.removeAll { $0.until <= now } }
        if moved.count > Self.movedMax { moved.removeFirst(moved.count - Self.movedMax) }
        forgetTokens(at: now, app)
        if hasForgettable(at: now, app) { forgetEntries(at: now, app) }
        while activities.count > Self.activitiesMax { activities.removeLeast { ($0.lastWordAt, $0.id) } }
        while starts.count > Self.startsMax { starts.removeLeast { ($0.lastWordAt, $0.type ?? "") } }
        while refused.count > Self.refusedMax { refused.removeLeast { ($0.at, $0.hash) } }
    }

    /// Mostly there is nothing to forget, and then nothing is touched: what is touched is copied.
    private func hasForgettable(at now: Int64, _ app: App) -> Bool {
        let (activities, starts) = (activities, starts)
        for place in activities.indices where activities.span[place].keptUntil(app) <= now { return true }
        for place in starts.indices
        where starts.span[place].lastWordAt + Retention.reportMilliseconds <= now { return true }
        return refused.contains { $0.at + Retention.reportMilliseconds <= now }
    }

    private mutating func forgetEntries(at now: Int64, _ app: App) {
        let known = self
        activities.removeAll { $0.keptUntil(app) <= now }
        starts.removeAll { start in
            guard start.lastWordAt + Retention.reportMilliseconds <= now else { return false }
            return start.isOf(known.environment?.value) && !known.isUsable(start)
        }
        refused.removeAll { $0.at + Retention.reportMilliseconds <= now }
    }

    private mutating func forgetTokens(at now: Int64, _ app: App) {
        for place in starts.indices where isWorthless(facts[0].starts[place]) {
            facts[0].starts[place].token?.sealed = ""
        }
        for place in activities.indices {
            let fate = fate(of: place, at: now, app)
            if fate.isWorthless { facts[0].activities[place].token?.sealed = "" }
            if let isExpired = fate.isExpired { facts[0].activities[place].isExpired = isExpired }
        }
    }

    private func isWorthless(_ start: Start) -> Bool {
        guard let token = start.token, !token.sealed.isEmpty else { return false }
        return isRefused(token)
    }

    /// Whether its token is of no more use, and whether it has expired where that is new.
    private func fate(
        of place: Int, at now: Int64, _ app: App
    ) -> (isWorthless: Bool, isExpired: Bool?) {
        let list = activities
        let activities = list.span
        guard let token = activities[place].token else { return (false, nil) }
        let isWorthless = !token.sealed.isEmpty && (activities[place].closing != nil || isRefused(token))
        let life = app.updateTokenMilliseconds(activities[place].type?.value)
        let isExpired = expiresAt(activities[place], life) <= now
        return (isWorthless, isExpired == activities[place].isExpired ? nil : isExpired)
    }

    /// When `forget` has something to do next; nil for never.
    func forgetsAt(_ app: App) -> Int64? {
        var next = Int64.max
        for moved in moved { next = min(next, moved.until) }
        for activity in activities {
            let isHeld = activity.token?.sealed.isEmpty == false && !activity.isExpired
            let life = app.updateTokenMilliseconds(activity.type?.value)
            next = min(next, isHeld ? expiresAt(activity, life) : activity.keptUntil(app))
        }
        return next == .max ? nil : next
    }
}

extension Installation.Activity {
    fileprivate func keptUntil(_ app: App) -> Int64 {
        let life = app.updateTokenMilliseconds(type?.value)
        return lastWordAt + Retention.activity(tokenMilliseconds: life)
    }
}

extension Installation.Start {
    var lastWordAt: Int64 { max(token?.at.received ?? 0, unregisteredAt?.received ?? 0) }

    /// A token of another environment waits for its app to come back.
    fileprivate func isOf(_ environment: Environment?) -> Bool {
        token == nil || token?.environment == environment
    }
}

extension Array {
    /// The one of the least time; of several, which one must not be a matter of the order they came in.
    fileprivate mutating func removeLeast(_ measure: (Element) -> (time: Int64, name: String)) {
        if let least = indices.min(by: { measure(self[$0]) < measure(self[$1]) }) { remove(at: least) }
    }
}
