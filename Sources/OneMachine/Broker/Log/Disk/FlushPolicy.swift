/// The moment at which an append counts as safe and readers may see it.
package enum FlushPolicy: Sendable, Equatable {
    /// When its bytes are on the disk. Appends of a few milliseconds share one sync.
    case everyAck
    /// At once; the operating system writes later. A crash of the process loses nothing. A crash of the
    /// machine can lose acknowledged records of the last half minute.
    case os
}
