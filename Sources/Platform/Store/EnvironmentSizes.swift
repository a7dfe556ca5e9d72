/// The sizes of one environment.
package struct EnvironmentSizes: Sendable, Equatable {
    package var usedBytes = 0
    package var mapBytes = 0
}
