/// The sizes of one environment.
package struct Statistics: Sendable, Equatable {
    package var usedBytes = 0
    package var mapBytes = 0
}
