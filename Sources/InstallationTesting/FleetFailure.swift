/// Why a fleet cannot go on.
package struct FleetFailure: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
