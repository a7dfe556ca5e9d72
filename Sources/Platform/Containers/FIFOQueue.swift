/// A first-in, first-out queue in one array.
///
/// `removeFirst` only moves `firstIndex`. The array drops the removed items later, many at a time, so that a
/// removal takes constant time on average. Until then it still holds them.
@frozen
@usableFromInline
package struct FIFOQueue<Item> {
    @usableFromInline var items: [Item] = []
    /// The index of the first item that is still in the queue.
    @usableFromInline var firstIndex = 0

    /// An empty queue frees an array that is larger than this.
    @inlinable static var keptCapacityMax: Int { 4096 }
    /// The number of removed items below which the array is not shortened.
    @inlinable static var removedItemsMin: Int { 64 }

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { firstIndex == items.count }
    @inlinable package var count: Int { items.count - firstIndex }
    @inlinable package var first: Item? { firstIndex < items.count ? items[firstIndex] : nil }
    @inlinable package var last: Item? { isEmpty ? nil : items.last }

    @inlinable package mutating func append(_ item: Item) { items.append(item) }

    /// Removes the first item. The queue must not be empty.
    @inlinable package mutating func removeFirst() {
        firstIndex += 1
        if firstIndex == items.count {
            items.removeAll(keepingCapacity: items.capacity <= Self.keptCapacityMax)
            firstIndex = 0
        } else if firstIndex > Self.removedItemsMin, firstIndex * 2 > items.count {
            items.removeFirst(firstIndex)
            firstIndex = 0
        }
    }

    /// Replaces each item with the result for it, in order.
    @inlinable package mutating func replaceAll(with replacement: (Item) -> Item) {
        for index in firstIndex..<items.count { items[index] = replacement(items[index]) }
    }

    /// Removes the items for which the condition holds. The others keep their order.
    @inlinable package mutating func removeAll(where shouldRemove: (Item) -> Bool) {
        items.removeFirst(firstIndex)
        firstIndex = 0
        items.removeAll(where: shouldRemove)
    }
}

extension FIFOQueue: Sendable where Item: Sendable {}
