/// An error after which a test with a fleet cannot continue.
package struct FleetFailure: Error, CustomStringConvertible {
    package let description: String
    package init(_ description: String) { self.description = description }
}
