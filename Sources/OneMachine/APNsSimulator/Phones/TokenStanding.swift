/// The standing of a token at APNs. Each direct push asks for it before it is answered.
enum TokenStanding: Sendable, Hashable {
    case good
    /// The token does not exist or belongs to the other environment: BadDeviceToken.
    case unknown
    /// The token belongs to another app: DeviceTokenNotForTopic.
    case ofAnotherTopic
    /// Unregistered since this time, milliseconds since 1970.
    case gone(since: Int64)
    /// ExpiredToken since this time, milliseconds since 1970.
    case expired(since: Int64)
}
