/// A priority queue: a binary heap whose smallest element is first. Equal elements leave in any order.
@frozen
@usableFromInline
package struct MinHeap<Element: Comparable> {
    /// The children of index `i` are at `2 * i + 1` and `2 * i + 2`. No child is smaller than its parent.
    @usableFromInline var elements: [Element] = []

    @inlinable package init() {}

    @inlinable package var count: Int { elements.count }
    @inlinable package var isEmpty: Bool { elements.isEmpty }
    @inlinable package var first: Element? { elements.first }

    @inlinable package mutating func push(_ element: Element) {
        var child = elements.count
        elements.append(element)
        while child > 0 {
            let parent = (child - 1) / 2
            guard element < elements[parent] else { break }
            elements[child] = elements[parent]
            child = parent
        }
        elements[child] = element
    }

    /// Removes and returns the smallest element, or returns nil if the heap is empty.
    @inlinable package mutating func pop() -> Element? {
        guard let smallest = elements.first, let last = elements.popLast() else { return nil }
        if elements.isEmpty { return smallest }
        // The last element sinks from the root until no child is smaller.
        var parent = 0
        while true {
            var child = 2 * parent + 1
            guard child < elements.count else { break }
            if child + 1 < elements.count, elements[child + 1] < elements[child] { child += 1 }
            guard elements[child] < last else { break }
            elements[parent] = elements[child]
            parent = child
        }
        elements[parent] = last
        return smallest
    }

    /// Removes and returns the smallest element if the condition holds for it.
    @inlinable package mutating func pop(where condition: (Element) -> Bool) -> Element? {
        guard let first = elements.first, condition(first) else { return nil }
        return pop()
    }

    /// Keeps only the `count` smallest elements.
    ///
    /// - Returns: The largest element that stays.
    @inlinable package mutating func keepSmallest(_ count: Int) -> Element? {
        // A sorted array is a heap.
        elements.sort()
        elements.removeSubrange(min(count, elements.count)...)
        return elements.last
    }
}

extension MinHeap: Sendable where Element: Sendable {}
