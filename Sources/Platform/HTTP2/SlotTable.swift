/// A fixed number of slots, one for each open stream, in memory that never moves, so that lists and C can
/// point to them. Acquiring and releasing a slot allocates nothing.
@safe final class SlotTable<Slot> {
    let capacity: Int
    private let slots: UnsafeMutablePointer<Slot>
    /// A stack of the indices of the free slots. It has `capacity - usedCount` elements.
    private let free: UnsafeMutablePointer<Int32>
    private(set) var usedCount = 0

    /// Creates the table. `make` returns the slot with the given index.
    init(capacity: Int, make: (Int) -> Slot) {
        self.capacity = capacity
        unsafe slots = .allocate(capacity: capacity)
        unsafe free = .allocate(capacity: capacity)
        for index in 0..<capacity {
            unsafe (slots + index).initialize(to: make(index))
            unsafe free[index] = Int32(capacity - 1 - index)
        }
    }

    deinit {
        unsafe slots.deinitialize(count: capacity)
        unsafe slots.deallocate()
        unsafe free.deallocate()
    }

    subscript(index: Int) -> UnsafeMutablePointer<Slot> {
        precondition(index >= 0 && index < capacity, "no such slot")
        return unsafe slots + index
    }

    /// Returns a free slot, or nil if all slots are used.
    func acquire() -> UnsafeMutablePointer<Slot>? {
        guard usedCount < capacity else { return nil }
        usedCount += 1
        return unsafe slots + Int(free[capacity - usedCount])
    }

    func release(at index: Int) {
        unsafe free[capacity - usedCount] = Int32(index)
        usedCount -= 1
    }
}
