/// What a push did to a phone. A phone tells nobody: only a simulator knows.
package enum PushEffect: UInt8, Sendable, CaseIterable {
    case started
    case shown
    case ended
    /// Kept by APNs until the phone is back.
    case stored
    /// Beyond the budget; the newest of them is shown later.
    case throttled

    // APNs' part.
    case lostWhileAway
    case replacedInStore
    case expiredInStore
    case storeIsFull
    case deadToken
    case appRemoved

    // Silence of the phone.
    case unknownEvent
    case wrongEventForToken
    case timestampMissing
    case contentStateMissing
    case contentStateNotDecoded
    case attributesMissing
    case attributesTypeUnknown
    case attributesNotDecoded
    case alertMissing
    case systemTooOld
    case systemHasNoChannels
    case switchedOff
    case tooManyActivities
    case startBudgetSpent
    case updateBudgetSpent
    case olderTimestamp
    case sameTimestamp
    case alreadyEnded
    case noLongerShown

    /// Whether the screen changed.
    package var isVisible: Bool { rawValue <= PushEffect.ended.rawValue }

    /// Whether the app could not make anything of what the push brought; which of its values is the path's root.
    package var undecodedPart: String? {
        switch self {
        case .contentStateNotDecoded: "content-state"
        case .attributesNotDecoded: "attributes"
        default: nil
        }
    }

    /// As people read it.
    package var phrase: String {
        switch self {
        case .started: "started an activity"
        case .shown: "is shown"
        case .ended: "ended the activity"
        case .stored: "kept by APNs until the phone is back"
        case .throttled: "beyond the update budget; shown later unless a newer one comes"
        case .lostWhileAway: "the phone was away, and the push was not to be stored"
        case .replacedInStore: "a newer push took its index while the phone was away"
        case .expiredInStore: "expired before the phone was back"
        case .storeIsFull: "the phone was away, and the simulator keeps no more pushes"
        case .deadToken: "the token had been replaced"
        case .appRemoved: "the app is no longer on the phone"
        case .unknownEvent: "event is none that ActivityKit knows"
        case .wrongEventForToken: "a start needs a start token, everything else an update token"
        case .timestampMissing: "timestamp is missing"
        case .contentStateMissing: "content-state is missing"
        case .contentStateNotDecoded: "content-state does not decode into the app's type"
        case .attributesMissing: "attributes or attributes-type is missing"
        case .attributesTypeUnknown: "attributes-type is none that this token starts"
        case .attributesNotDecoded: "attributes do not decode into the app's type"
        case .alertMissing: "a start without an alert is not shown"
        case .systemTooOld: "pushes start activities from iOS 17.2 on"
        case .systemHasNoChannels: "input-push-channel needs iOS 18; before, the activity does not start"
        case .switchedOff: "the person has switched Live Activities off"
        case .tooManyActivities: "the app has as many activities as the system allows"
        case .startBudgetSpent: "the push-to-start budget is spent"
        case .updateBudgetSpent: "the update budget is spent"
        case .olderTimestamp: "timestamp is older than that of what is shown"
        case .sameTimestamp: "timestamp is that of what is shown"
        case .alreadyEnded: "the activity had ended"
        case .noLongerShown: "the activity is no longer on the screen"
        }
    }
}
