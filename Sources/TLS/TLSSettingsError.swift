/// A certificate, a key or a CA file that cannot be used: which, why, and what to do.
package struct TLSSettingsError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
