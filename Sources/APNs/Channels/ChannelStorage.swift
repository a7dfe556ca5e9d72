/// What a broadcast channel keeps for phones that come later. Chosen when it is made, for good.
package enum ChannelStorage: Int, Sendable, CaseIterable {
    /// Nothing: for frequent news, such as scores. Apple allows more broadcasts; `expiration` must be 0.
    case none = 0
    /// The newest message, for at most eight hours: for rare news, such as flights.
    case newest = 1
}
