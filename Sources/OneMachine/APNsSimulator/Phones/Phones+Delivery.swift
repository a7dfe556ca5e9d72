internal import Payloads

/// Delivery of an accepted push: to a phone, or into the store for a phone that is away.
extension Phones {
    /// Delivers a push to the phone of its token, or to all phones that listen to its channel.
    package func deliver(_ push: AcceptedPush) {
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
        let effect: PushEffect
        if traits.contains(.removed) {
            effect = .appRemoved
        } else if traits.contains(.away) {
            effect = store(push, forPhone: number)
        } else {
            effect = applyPush(push, identity: identity, at: push.receivedAt)
        }
        recordReception(of: push, onPhone: number, effect: effect, at: push.receivedAt)
    }

    /// Applies a push that has reached its installation and returns the effect.
    func applyPush(_ push: AcceptedPush, identity: PhoneTokens.Identity, at time: Int64) -> PushEffect {
        switch identity.kind {
        case .start: return applyStart(push, identity: identity, at: time)
        case .update:
            // The activity of an earlier process is gone.
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

    /// Records the effect of a push for readers of the phone.
    func recordReception(of push: AcceptedPush, onPhone number: Int, effect: PushEffect, at time: Int64) {
        receptions.add(
            .init(
                phone: Int32(number), effect: effect, event: push.payload.event,
                priority: UInt8(clamping: push.priority), previous: 0,
                problemNumber: effect.undecodedPart == nil ? -1 : decoder.newestProblem,
                timestamp: push.payload.timestamp ?? 0, receivedAt: time, id: push.id), to: &phones[number])
    }

    // MARK: Phones that are away

    /// Stores a push for a phone that is away. Apple stores one push for a device and an app, "in most cases
    /// the latest". This simulator always stores the latest.
    private func store(_ push: AcceptedPush, forPhone number: Int) -> PushEffect {
        // An expiration of 0 demands a single attempt.
        if push.expiration == 0 { return .lostWhileAway }
        let key = Int32(number)
        if let older = storedPushes[key] {
            recordReception(of: older, onPhone: number, effect: .replacedInStore, at: push.receivedAt)
        } else if storedPushes.count >= settings.storedPushesMax {
            return .storeIsFull
        }
        storedPushes[key] = push
        return .stored
    }

    /// Delivers the push that APNs stored while the phone was away, unless it has expired.
    func deliverStoredPush(toPhone number: Int, at time: Int64) {
        guard let push = storedPushes.removeValue(forKey: Int32(number)),
            case .token(let token) = push.target,
            let identity = tokens.identity(of: token)
        else { return }
        let isExpired = push.expiration.map { milliseconds(fromSeconds: $0) <= time } ?? false
        recordReception(
            of: push, onPhone: number,
            effect: isExpired ? .expiredInStore : applyPush(push, identity: identity, at: time), at: time)
    }
}
