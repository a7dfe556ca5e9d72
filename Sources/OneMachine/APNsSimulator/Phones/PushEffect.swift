/// The effect of a push on a phone. Real phones do not report it, so only a simulator knows it. The raw value is the
/// index of its counter in `Receptions`.
package enum PushEffect: UInt8, Sendable, CaseIterable {
    case started
    case shown
    case ended
    /// Stored by APNs until the phone is back.
    case stored
    /// The update budget is used up, and `PhoneSettings.throttling` delays such updates. The newest of them is shown
    /// later.
    case throttled

    // The push did not reach the app.
    case lostWhileAway
    case replacedInStore
    case expiredInStore
    case storeIsFull
    /// Another token replaced the token, or the token belongs to no phone.
    case deadToken
    case appRemoved

    // The push reached the phone. iOS or the app did not show it.
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
    /// The update budget is used up, and `PhoneSettings.throttling` drops such updates.
    case updateBudgetSpent
    case olderTimestamp
    case sameTimestamp
    case alreadyEnded
    case noLongerShown

    /// The member of `aps` that the app could not decode, with which the path of a decoding problem begins. Nil if
    /// decoding did not fail.
    package var undecodedPart: String? {
        switch self {
        case .contentStateNotDecoded: "content-state"
        case .attributesNotDecoded: "attributes"
        default: nil
        }
    }

    /// The effect in words.
    package var message: String {
        switch self {
        case .started: "started an activity"
        case .shown: "is shown"
        case .ended: "ended the activity"
        case .stored: "stored by APNs until the phone is back"
        case .throttled: "above the update budget; shown later unless a newer update arrives"
        case .lostWhileAway: "the phone was away, and the push was not to be stored"
        case .replacedInStore: "a newer push replaced it while the phone was away"
        case .expiredInStore: "expired before the phone was back"
        case .storeIsFull: "the phone was away, and the simulator's store is full"
        case .deadToken: "the token had been replaced"
        case .appRemoved: "the app is no longer on the phone"
        case .unknownEvent: "event is unknown to ActivityKit"
        case .wrongEventForToken: "a start needs a start token, everything else an update token"
        case .timestampMissing: "timestamp is missing"
        case .contentStateMissing: "content-state is missing"
        case .contentStateNotDecoded: "content-state does not decode into the app's type"
        case .attributesMissing: "attributes or attributes-type is missing"
        case .attributesTypeUnknown: "this token does not start attributes-type"
        case .attributesNotDecoded: "attributes do not decode into the app's type"
        case .alertMissing: "a start without an alert is not shown"
        case .systemTooOld: "a start by push needs iOS 17.2"
        case .systemHasNoChannels: "input-push-channel needs iOS 18; an older system starts nothing"
        case .switchedOff: "the user has switched Live Activities off"
        case .tooManyActivities: "the app has as many activities as the system allows"
        case .startBudgetSpent: "the push-to-start budget is used up"
        case .updateBudgetSpent: "the update budget is used up"
        case .olderTimestamp: "timestamp is older than the shown one"
        case .sameTimestamp: "timestamp equals the shown one"
        case .alreadyEnded: "the activity had ended"
        case .noLongerShown: "the activity is no longer on the screen"
        }
    }
}
