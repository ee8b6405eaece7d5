"""A run as Parquet, part by part: any number of cases, on this machine or on object storage.

pyarrow loads when a part is written or read.
"""
