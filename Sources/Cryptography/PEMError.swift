/// A certificate, a key or a CA file that cannot be used: which, why, and what to do.
package struct PEMError: Error, Equatable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
