internal import LiveActivity

// Delivery of a push to a phone.

extension Phones {
    func deliver(_ push: AcceptedPush) {
        switch push.target {
        case .channel(let id): broadcast(push, on: id)
        case .token(let token):
            guard let identity = tokens.identity(of: token), identity.phone < phones.count else {
                return receptions.count(.deadToken)
            }
            deliverToPhone(push, identity: identity)
        }
    }

    private func deliverToPhone(_ push: AcceptedPush, identity: PhoneTokens.Identity) {
        let number = identity.phone
        let traits = phones[number].traits
        if traits.contains(.removed) {
            recordReception(of: push, onPhone: number, effect: .appRemoved, at: push.receivedAt)
        } else if traits.contains(.away) {
            recordReception(
                of: push, onPhone: number, effect: store(push, forPhone: number), at: push.receivedAt)
        } else {
            recordReception(
                of: push, onPhone: number, effect: applyPush(push, identity: identity, at: push.receivedAt),
                at: push.receivedAt)
        }
    }

    /// Applies a push that has reached its installation and returns the effect.
    func applyPush(_ push: AcceptedPush, identity: PhoneTokens.Identity, at time: Int64) -> PushEffect {
        switch identity.kind {
        case .start: return applyStart(push, identity: identity, at: time)
        case .update:
            guard identity.processNumber == processNumber, identity.index < activities.count else {
                return .noLongerShown
            }
            let activity = activities[identity.index]
            guard activity.slotGeneration == identity.slotGeneration, activity.state != .free else {
                return .noLongerShown
            }
            guard activity.tokenGeneration == identity.generation else { return .deadToken }
            return applyUpdate(push, toActivity: identity.index, at: time)
        }
    }

    func recordReception(of push: AcceptedPush, onPhone number: Int, effect: PushEffect, at time: Int64) {
        let event: UInt8 =
            switch push.payload.event {
            case .start: 0
            case .update: 1
            case .end: 2
            case nil: .max
            }
        receptions.add(
            .init(
                phone: Int32(number), effect: effect, event: event, priority: UInt8(clamping: push.priority),
                previous: 0, problem: effect.undecodedPart == nil ? -1 : decoder.newestProblem,
                timestamp: push.payload.timestamp ?? 0, receivedAt: time, id: push.id), to: &phones[number])
    }

    // MARK: Away

    /// Stores a push for a phone that is away. Apple stores one push for a device and an app, "in most cases
    /// the latest". This simulator always stores the latest.
    private func store(_ push: AcceptedPush, forPhone number: Int) -> PushEffect {
        if push.expiration == 0 { return .lostWhileAway }
        let key = Int32(number)
        if let older = stored[key] {
            recordReception(of: older, onPhone: number, effect: .replacedInStore, at: push.receivedAt)
        } else if stored.count >= settings.storedMax {
            return .storeIsFull
        }
        stored[key] = push
        return .stored
    }

    /// Makes the phone reachable again. The stored push arrives, and the app sends the reports that it owes.
    func reconnect(phone number: Int, at time: Int64) {
        guard phones[number].traits.contains(.away) else { return }
        phones[number].traits.remove(.away)
        if let push = stored.removeValue(forKey: Int32(number)), case .token(let token) = push.target,
            let identity = tokens.identity(of: token)
        {
            let isExpired = push.expiration.map { milliseconds(fromSeconds: $0) <= time } ?? false
            recordReception(
                of: push, onPhone: number,
                effect: isExpired ? .expiredInStore : applyPush(push, identity: identity, at: time), at: time)
        }
        for index in activityIndices(ofPhone: number) {
            advance(activity: index, to: time)
            if activities[index].state != .free { deliverStoredMessage(toActivity: index, at: time) }
        }
        sendWithheldReports(ofPhone: number, at: time)
    }

    /// Converts seconds to milliseconds. Extreme values saturate.
    func milliseconds(fromSeconds seconds: Int64) -> Int64 {
        let (value, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
        return overflow ? (seconds < 0 ? .min : .max) : value
    }
}
