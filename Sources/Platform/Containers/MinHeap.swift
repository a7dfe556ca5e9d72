/// A binary heap whose smallest element is first.
@frozen
@usableFromInline
package struct MinHeap<Element: Comparable> {
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

    @inlinable package mutating func pop() -> Element? {
        guard let smallest = elements.first, let last = elements.popLast() else { return nil }
        if elements.isEmpty { return smallest }
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

    /// Removes the smallest element if the condition holds for it.
    @inlinable package mutating func pop(where isDue: (Element) -> Bool) -> Element? {
        guard let first = elements.first, isDue(first) else { return nil }
        return pop()
    }

    /// Keeps only the smallest elements.
    ///
    /// - Returns: The largest element that stays.
    @inlinable package mutating func keepSmallest(_ count: Int) -> Element? {
        elements.sort()
        elements.removeSubrange(min(count, elements.count)...)
        return elements.last
    }
}

extension MinHeap: Sendable where Element: Sendable {}
