/// What APNs knows of a token: asked for each direct push before it is answered.
enum TokenStanding: Sendable, Hashable {
    case good
    /// Nobody's, or of the other environment: BadDeviceToken.
    case unknown
    /// Of another app: DeviceTokenNotForTopic.
    case ofAnotherTopic
    /// Unregistered since this time, milliseconds since 1970.
    case gone(since: Int64)
    /// ExpiredToken since this time, milliseconds since 1970.
    case expired(since: Int64)
}
