/// Why a push was not taken. Nothing became of it, and nothing will.
package enum PushRefusal: String, Error, Sendable, Hashable, CaseIterable {
    /// As many as there is room for are open or wait in this pool: push again when some of them have ended.
    case full
    /// The client has been told to stop.
    case stopped
    /// There is no key file for the app's team and key id: put it there, which is seen within seconds.
    case noProviderKey = "no_provider_key"
}
