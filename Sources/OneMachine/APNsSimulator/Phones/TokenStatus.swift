/// The status of a push token at APNs, on which the answer to a push depends.
package enum TokenStatus: Sendable, Hashable {
    case valid
    /// The token does not exist or belongs to the other environment: BadDeviceToken.
    case unknown
    /// The token belongs to another app: DeviceTokenNotForTopic.
    case wrongTopic
    /// The app was removed or the activity ended at this time, in milliseconds since 1970: Unregistered.
    case unregistered(since: Int64)
    /// A new token replaced the token at this time, in milliseconds since 1970: ExpiredToken.
    case expired(since: Int64)
}
