/// An unusable certificate, key or CA file. The description names it, the reason and the remedy.
package struct PEMError: Error, Equatable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
