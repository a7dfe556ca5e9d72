/// The standing of a token at APNs. Each direct push asks for it before it is answered.
enum TokenStatus: Sendable, Hashable {
    case valid
    /// The token does not exist or belongs to the other environment: BadDeviceToken.
    case unknown
    /// The token belongs to another app: DeviceTokenNotForTopic.
    case wrongTopic
    /// Unregistered since this time, milliseconds since 1970.
    case unregistered(since: Int64)
    /// ExpiredToken since this time, milliseconds since 1970.
    case expired(since: Int64)
}
