/// An error that a component logged, and how often. Fields are left out: they may differ from line to line.
package struct LoggedError: Sendable, Equatable {
    package let component: String
    package let message: String
    package internal(set) var count: Int
}
