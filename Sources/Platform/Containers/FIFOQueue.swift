/// A first-in, first-out queue in one array.
@frozen
@usableFromInline
package struct FIFOQueue<Item> {
    @usableFromInline var items: [Item] = []
    @usableFromInline var head = 0

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { head == items.count }
    @inlinable package var count: Int { items.count - head }
    @inlinable package var first: Item? { head < items.count ? items[head] : nil }
    @inlinable package var last: Item? { isEmpty ? nil : items.last }

    @inlinable package mutating func append(_ item: Item) { items.append(item) }

    @inlinable package mutating func removeFirst() {
        head += 1
        if head == items.count {
            items.removeAll(keepingCapacity: items.capacity <= 4096)
            head = 0
        } else if head > 64, head * 2 > items.count {
            items.removeFirst(head)
            head = 0
        }
    }

    /// Replaces each item with the result for it, in order.
    @inlinable package mutating func replaceAll(_ replacement: (Item) -> Item) {
        for index in head..<items.count { items[index] = replacement(items[index]) }
    }

    @inlinable package mutating func removeAll(where isOut: (Item) -> Bool) {
        items.removeFirst(head)
        head = 0
        items.removeAll(where: isOut)
    }
}

extension FIFOQueue: Sendable where Item: Sendable {}
