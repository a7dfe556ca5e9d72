/// What one environment takes.
package struct Statistics: Sendable, Equatable {
    package var usedBytes = 0
    package var mapBytes = 0
}
