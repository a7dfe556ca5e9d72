/// The reason why the client did not take a push. Such a push has no effect.
package enum PushRefusal: String, Error, Sendable, Hashable, CaseIterable {
    /// The pool holds as many pushes as its limits allow. Push again when some of them have ended.
    case full
    /// The client was stopped.
    case stopped
    /// No key file exists for the app's team id and key id. Put it in place: it is found within seconds.
    case noProviderKey = "no_provider_key"
}
