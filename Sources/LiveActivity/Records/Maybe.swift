/// `T?` for the fields of large values. A `var` of type `T?` begins as nil; an initialiser that then sets
/// it sets it a second time, and for that the whole value is copied, and the copy destroyed, on its way
/// out: for a row, thirty counts of references up and down. Spelled like this it begins as nothing.
@usableFromInline package typealias Maybe<T> = T?
