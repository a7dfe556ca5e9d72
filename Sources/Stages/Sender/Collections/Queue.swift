/// A first-in, first-out queue.
struct Queue<Item> {
    private var items: [Item] = []
    private var head = 0

    var isEmpty: Bool { head == items.count }
    var count: Int { items.count - head }
    var first: Item? { head < items.count ? items[head] : nil }
    var last: Item? { isEmpty ? nil : items.last }

    mutating func append(_ item: Item) { items.append(item) }

    mutating func removeFirst() {
        head += 1
        if head == items.count {
            items.removeAll(keepingCapacity: items.capacity <= 4_096)
            head = 0
        } else if head > 64, head * 2 > items.count {
            items.removeFirst(head)
            head = 0
        }
    }

    /// Replaces each item with the result for it, in order.
    mutating func replaceAll(_ replacement: (Item) -> Item) {
        for index in head..<items.count { items[index] = replacement(items[index]) }
    }

    mutating func removeAll(where isOut: (Item) -> Bool) {
        items.removeFirst(head)
        head = 0
        items.removeAll(where: isOut)
    }
}
