internal import CLinux

/// A point on the machine's steady clock, which includes time in suspension. Waits, ages and expirations
/// inside the process use it, because the wall clock can jump.
package struct Instant: Sendable, Hashable, Comparable {
    package let nanoseconds: Int64

    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    package static func now() -> Instant { Instant(nanoseconds: Int64(linux_boottime_nanoseconds())) }

    package static let distantFuture = Instant(nanoseconds: .max)

    package static func < (a: Instant, b: Instant) -> Bool { a.nanoseconds < b.nanoseconds }

    /// The time on the steady clock in milliseconds, rounded down.
    package var milliseconds: Int64 { nanoseconds / 1_000_000 }

    /// Returns a later instant, or an earlier one for a negative number. An instant beyond the range becomes its end.
    package func advanced(byMilliseconds milliseconds: Int) -> Instant {
        let step = Int64(milliseconds).multipliedReportingOverflow(by: 1_000_000)
        let longestStep: Int64 = milliseconds < 0 ? .min : .max
        return advanced(byNanoseconds: step.overflow ? longestStep : step.partialValue)
    }

    private func advanced(byNanoseconds step: Int64) -> Instant {
        let sum = nanoseconds.addingReportingOverflow(step)
        let endOfRange: Int64 = step < 0 ? .min : .max
        return Instant(nanoseconds: sum.overflow ? endOfRange : sum.partialValue)
    }

    /// Returns the next multiple of the step. Returns self if it is a multiple or the step is zero.
    package func roundedUp(toMilliseconds step: Int) -> Instant {
        guard step > 0 else { return self }
        let step = Int64(step) * 1_000_000
        let remainder = nanoseconds % step
        return remainder <= 0 ? self : advanced(byNanoseconds: step - remainder)
    }

    /// Returns the difference. It is negative if `earlier` is later.
    package func milliseconds(since earlier: Instant) -> Int {
        Int((nanoseconds &- earlier.nanoseconds) / 1_000_000)
    }

    package func seconds(since earlier: Instant) -> Double {
        Double(nanoseconds &- earlier.nanoseconds) / 1_000_000_000
    }
}
