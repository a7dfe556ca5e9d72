/// An unusable certificate, key or CA file. The description has the name, the reason and, if one is known,
/// the remedy.
package struct PEMError: Error, Equatable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
}
